// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/dispatcher.hpp>
#include <commensal/serve/gateway/testing/heard.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::gateway::testing {

/// A dispatcher and what it stands on, one provider that is there, and another that may come.
class DispatcherOf : public ::testing::Test {
 protected:
  static constexpr core::Digest kSalt{3};
  static constexpr crypto::Address kAuditor{{7}};
  static constexpr std::int64_t kSilenceMs = 1'000;

  void SetUp() override {
    ASSERT_TRUE(bank_.open());
    ASSERT_TRUE(lottery_.open());
    stream_ = connect(provider_key_, heard_);
  }
  Roster::StreamId connect(const crypto::SecretKey& key, const std::shared_ptr<Heard>& heard) {
    const Roster::StreamId stream = roster_.admit(heard);
    say_hello(stream, key, heard->all<rpc::Challenge>().at(0).nonce, "");
    return stream;
  }
  /// `nonce`: of the stream's challenge.
  void say_hello(Roster::StreamId stream, const crypto::SecretKey& key, const core::Digest& nonce,
                 std::string_view version) {
    rpc::Hello hello;
    hello.version = version;
    hello.address = key.address();
    hello.signature =
        crypto::sign(key, rpc::hello_digest(nonce, hello.address, key_.address(), {}));
    std::optional<Roster::StreamId> replaced;
    EXPECT_TRUE(roster_.welcome(stream, hello, replaced));
  }
  void connect_other() { other_stream_ = connect(other_key_, other_heard_); }
  Health& health() { return roster_.at(stream_)->health; }
  Health& other_health() { return roster_.at(other_stream_)->health; }
  void commit_of(Roster::StreamId stream, const rpc::Commit& message) {
    steps_.on_commit(stream, message);
    loop_.run_until_idle();
  }
  void deliver(const protocol::Job& job) {
    steps_.on_deliver(stream_, {protocol::job_id(job), 1, kSalt, inputs_});
    loop_.run_until_idle();
  }
  /// The first provider answers, so often that it is known what is usual.
  void answer_some() {
    for (int i = 0; i < 2; ++i) {
      const protocol::Job job = ask();
      commit_of(stream_, {{commit(job, provider_key_)}});
      deliver(job);
    }
    ASSERT_EQ(std::exchange(answers_, {}), (std::vector{true, true}));
  }
  void be_at_work(std::int64_t ms) {
    for (std::int64_t i = 0; i < ms; i += kSilenceMs / 2) {
      roster_.at(stream_)->at_work_ms = clock_.monotonic_ns() / 1'000'000;
      loop_.advance_ms(kSilenceMs / 2);
    }
  }
  /// What the first provider was offered last, for a new request; its output will be its input.
  protocol::Job ask(const std::string& account = "") {
    const float value = static_cast<float>(asked_++);
    inputs_ = {{"x", tensor::Tensor::of<float>({1}, std::span(&value, 1))}};
    Order order;
    order.account = account;
    order.model.name = model_;
    order.model.content = content_;
    order.model.is_private = is_private_;
    order.model.allowed_providers = allowed_;
    order.model.bytes = model_bytes_;
    order.model.outputs = {{"x", {tensor::DType::kFloat32, true, {1}, {""}}}};
    order.inputs = inputs_;
    order.scheduling = scheduling_;
    order.timeout_ms = timeout_ms_;
    order.journey = journey_;
    dispatcher_.submit(std::move(order));
    const auto offers = heard_->all<rpc::Offer>();
    return offers.empty() ? protocol::Job() : offers.back().job;
  }
  rpc::Commit::Item commit(const protocol::Job& job, const crypto::SecretKey& signer,
                           const core::Digest& salt = kSalt) const {
    const core::Digest id = protocol::job_id(job);
    const core::Digest c = protocol::commit_step(id, 1, receipt::state_root(inputs_), salt);
    const protocol::ReceiptBody body{id, 1, c, protocol::kNoDraw};
    const auto signatures = protocol::sign_batch(signer, protocol::Role::kProvider, {&body, 1});
    return {id, 1, c, body.round, signatures[0]};
  }
  std::vector<core::Digest> signed_jobs() const {
    std::vector<core::Digest> jobs;
    for (const rpc::Countersign& word : heard_->all<rpc::Countersign>()) {
      for (const auto& item : word.items) jobs.push_back(item.job);
    }
    return jobs;
  }
  std::vector<core::Digest> withdrawn() const {
    std::vector<core::Digest> jobs;
    for (const rpc::Withdraw& word : heard_->all<rpc::Withdraw>()) {
      jobs.insert(jobs.end(), word.jobs.begin(), word.jobs.end());
    }
    return jobs;
  }
  void handle(event::Any& event) {
    if (auto* const made = std::get_if<event::StepMade>(&event)) {
      answers_.push_back(true);
      made_.push_back(made->work);
      dispatcher_.on_made(*made);
    }
    if (auto* const lost = std::get_if<event::StepLost>(&event)) dispatcher_.on_lost(*lost);
    if (auto* const none = std::get_if<event::Unanswered>(&event)) {
      answers_.push_back(false);
      why_ = none->error.message;
    }
  }

  using Jobs = std::vector<core::Digest>;
  core::CounterRng rng_{1};
  const crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey provider_key_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey other_key_ = crypto::SecretKey::generate(rng_);
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  Bank bank_{store_, clock_, key_, {}};
  Roster roster_{store_, rng_, key_, clock_};
  EventQueue events_{loop_, [this](event::Any& event) { handle(event); }, [] {}};
  ticket::TicketBook tickets_{store_, clock_};
  Lottery lottery_{{loop_, store_, clock_, rng_, key_, bank_, roster_, events_, tickets_},
                   {}};  // off
  Steps steps_{{loop_, clock_, store_, key_, roster_, lottery_, events_}, kSilenceMs};
  Shares shares_;
  AuditPolicy policy_{loop_, clock_, events_, {}, false};
  Dispatcher dispatcher_{
      {loop_, clock_, rng_, key_, roster_, shares_, lottery_, policy_, steps_, events_},
      {1'000, 2, kAuditor}};
  std::vector<WorkPtr> made_;
  std::shared_ptr<Heard> heard_ = std::make_shared<Heard>();
  std::shared_ptr<Heard> other_heard_ = std::make_shared<Heard>();
  Roster::StreamId stream_ = 0, other_stream_ = 0;
  bool is_private_ = false;
  std::string model_ = "a/model";  // what is asked for, and its content
  core::Digest content_{5};
  std::int64_t model_bytes_ = 0;
  std::vector<crypto::Address> allowed_ = {provider_key_.address(), other_key_.address()};
  Scheduling scheduling_;        // of what is asked
  std::int64_t timeout_ms_ = 0;  // likewise
  JourneyPtr journey_;           // likewise
  tensor::NamedTensors inputs_;  // of the last request
  int asked_ = 0;
  std::vector<bool> answers_;  // whether there was one
  std::string why_;            // not, the last time
};

}  // namespace commensal::gateway::testing
