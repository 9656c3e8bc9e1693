// SPDX-License-Identifier: Apache-2.0
// Private requests and rollouts on the whole trip: providers that nobody vouches for compute none
// of them, whoever is caught, refuses, or comes back.
#include <gmock/gmock.h>

#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/lab/sim/testing/liars.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>

namespace commensal::sim {
namespace {

using namespace testing;
using gateway::AuditState;
using gateway::ReceiptRecord;
using ::testing::HasSubstr;

/// Honest, and looks at what it is asked.
class Looking final : public rollout::EngineFactory {
 public:
  using Look = std::function<void(const receipt::Values&)>;
  explicit Looking(Look look) : look_(std::move(look)) {}
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path& file,
                                                      const std::vector<protocol::Feed>& feeds,
                                                      const std::stop_token& cancel) override {
    COMMENSAL_ASSIGN(auto engine, honest_.load(file, feeds, cancel));
    return std::make_unique<Engine>(std::move(engine), look_);
  }

 private:
  class Engine final : public rollout::Engine {
   public:
    Engine(std::unique_ptr<rollout::Engine> honest, Look look)
        : honest_(std::move(honest)), look_(std::move(look)) {}
    const receipt::ModelRoots& roots() const override { return honest_->roots(); }
    const graph::Graph& graph() const override { return honest_->graph(); }
    core::Result<receipt::Values> run(std::uint64_t step, const receipt::Values& inputs,
                                      const std::optional<noise::Noise>& noise,
                                      const graph::RunOptions& options) override {
      look_(inputs);
      return honest_->run(step, inputs, noise, options);
    }

   private:
    std::unique_ptr<rollout::Engine> honest_;
    Look look_;
  };
  Look look_;
  rollout::SessionEngineFactory honest_{graph::SessionOptions{}};
};

TEST_F(PrivateMarket, WhatACaughtProviderAnsweredIsComputedAgainByWhoIsVouchedFor) {
  outside_auditors_ = true;
  recheck_probability_ = 1;
  audit_probability_ = 0.1;
  int looked = 0;
  auto market = open(71, 0.1);
  prepare(*market);
  const auto stranger = [&looked] {
    return std::make_unique<Looking>([&looked](const receipt::Values& inputs) {
      ++looked;
      EXPECT_LT(inputs[0].data<float>()[0], kPrivate);
    });
  };
  add(*market, "u1", stranger());
  add(*market, "u2", stranger());
  const std::size_t good = add(*market, "good");
  const std::size_t cheat = add(*market, "cheat", make_lazy_cheat());
  vouch(*market, good, kLater);
  vouch(*market, cheat, kLater);
  const std::set<std::size_t> trusted = {good, cheat};
  int marked = 0;
  market->overhear([&](std::size_t provider, const rpc::ToProvider& word) {
    if (!has_marker(word)) return;
    ++marked;
    EXPECT_TRUE(trusted.contains(provider)) << "said to provider " << provider;
  });
  // As an auditor elsewhere does, but that it is silent then.
  int taken = 0;
  const auto take = [&] {
    const auto given = market->gateway().take_audit(auditor_.address(), true);
    ASSERT_TRUE(given) << given.error().message;
    if (!*given) return;
    ++taken;
    EXPECT_EQ((*given)->receipt.job.auditors, protocol::AuditorClass::kPublic);
    EXPECT_FALSE(has_marker(**given));
  };
  for (std::uint64_t i = 0; i < 60; ++i) {
    take();
    if (i == 20) {  // what is known of providers is said anew
      market->rest_ms(2 * limits::kPresenceWriteMs);
      market->kill_gateway();
      ASSERT_TRUE(market->start_gateway());
    }
    const auto answer = ask(*market, i, i % 3 != 2);
    ASSERT_TRUE(answer.has_value()) << i << ": " << answer.error().message;
  }
  for (int i = 0; i < 120; ++i) {
    take();
    market->rest_ms(1'000);
  }
  std::size_t replaced = 0;
  const std::set<crypto::Address> vouched = {market->address_of(good), market->address_of(cheat)};
  for (const ReceiptRecord& record : private_receipts(*market)) {
    const protocol::Job& job = record.receipt.job;
    EXPECT_TRUE(vouched.contains(job.provider));
    EXPECT_EQ(job.auditors, protocol::AuditorClass::kOwnerList);
    EXPECT_EQ(job.auditor_list, std::vector{market->gateway().auditor_address()});
    if (job.provider != market->address_of(cheat)) continue;
    ASSERT_TRUE(record.replaced_by.has_value());
    const auto now = market->gateway().receipts().find(*record.replaced_by);
    ASSERT_TRUE(now.has_value());
    EXPECT_EQ(now->receipt.job.provider, market->address_of(good));
    EXPECT_EQ(now->privacy_class, "medical");
    ++replaced;
  }
  EXPECT_GT(replaced, 0u);
  EXPECT_GT(looked, 0) << "others are answered by them too";
  EXPECT_GE(marked, 40) << "each private request was offered to somebody";
  EXPECT_GT(taken, 0) << "others' answers are audited elsewhere";
}

TEST_F(PrivateMarket, WithNobodyVouchedForARequestEndsInALine) {
  auto market = open(72, 0.1);
  prepare(*market);
  const std::size_t only = add(*market, "p1");
  auto refused = ask(*market, 1, true);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message,
              HasSubstr("no provider for 'consumer/digits': 'p1' has no statement of class"));
  refused = ask(*market, 1, true, "legal");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("this gateway has auditors for 'medical'"));
  vouch(*market, only, market->clock().wall_ms() + 10'000);
  EXPECT_TRUE(ask(*market, 2, true));
  const auto classes = market->gateway().providers().at(0).privacy;
  ASSERT_EQ(classes.size(), 1u);
  EXPECT_EQ(classes.begin()->first, "medical");
  // What else is shown on its stream, whichever that is, is passed over.
  for (gateway::Gateway::StreamId id = 1; id < 8; ++id)
    market->gateway().on_message(id, rpc::Statements{});
  EXPECT_EQ(market->gateway().providers().at(0).privacy, classes);
  market->rest_ms(10'000);
  EXPECT_TRUE(market->gateway().providers().at(0).privacy.empty());
  refused = ask(*market, 3, true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'medical' any more"));
  EXPECT_TRUE(ask(*market, 4, false));
}

TEST_F(PrivateMarket, ARolloutThatIsRefusedMovesToWhoIsVouchedFor) {
  auto market = open(73, 0.3);
  prepare_letters(*market);
  const auto refusals = std::make_shared<int>(1);
  const auto never = [] {
    return std::make_unique<Looking>([](const receipt::Values&) { ADD_FAILURE() << "not theirs"; });
  };
  for (const char* name : {"u1", "u2", "u3"}) add(*market, name, never());
  for (const char* name : {"v1", "v2"})
    vouch(*market, add(*market, name, make_refusing(refusals)), kLater);
  gateway::RolloutRequest request = letters(6, 16, 0);
  request.privacy_class = "medical";
  const auto made = market->gateway().rollouts().create(request);
  ASSERT_TRUE(made) << made.error().message;
  market->rest_ms(5);
  market->kill_gateway();  // its class is on disk
  ASSERT_TRUE(market->start_gateway());
  market->rest_ms(12'000);
  const RolloutStatus status = drive(*market, request);
  EXPECT_EQ(status.entry.state, RolloutState::kFinished) << status.entry.reason;
  EXPECT_NE(status.entry.provider, made->entry.provider);
  const auto record = market->gateway().rollouts().record(made->entry.id);
  ASSERT_TRUE(record) << record.error().message;
  EXPECT_EQ(record->job.auditors, protocol::AuditorClass::kOwnerList);
  request.privacy_class = "legal";
  EXPECT_FALSE(market->gateway().rollouts().create(request)) << "the key's is of another class";
}

TEST_F(PrivateMarket, ARolloutEndsWithTheStatementOfItsProvider) {
  auto market = open(74, 0.3, [](Terms& terms) {
    terms.consumer_deposit = Amount(1'000'000'000);
    terms.gateway_escrow = Amount(1'000'000'000);
  });
  prepare_letters(*market);
  gateway::RolloutRequest request = letters(2'000, 16, 0);
  request.privacy_class = "medical";
  const std::size_t only = add(*market, "v");
  market->set_delay_ms(5);  // so that it takes its time
  EXPECT_THAT(market->gateway().rollouts().create(request).error().message,
              HasSubstr("'v' has no statement of class 'medical'"));
  vouch(*market, only, market->clock().wall_ms() + 1'000);
  ASSERT_TRUE(market->gateway().rollouts().create(request));
  market->rest_ms(300);
  EXPECT_EQ(market->gateway().rollouts().create(request)->entry.state, RolloutState::kRunning);
  market->rest_ms(20'000);
  const auto status = market->gateway().rollouts().create(request);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->entry.state, RolloutState::kFailed);
  EXPECT_EQ(status->entry.reason,
            "its provider has no statement of class 'medical' any more: its last one has ended");
}

}  // namespace
}  // namespace commensal::sim
