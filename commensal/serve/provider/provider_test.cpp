// SPDX-License-Identifier: Apache-2.0
// When answers are signed together, and when they do not wait.
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/serve/provider/provider.hpp>

namespace commensal::provider {
namespace {

/// Offloaded work is done when the test says so.
class SlowLoop final : public core::Loop {
 public:
  explicit SlowLoop(core::ManualClock& clock) : inner_(clock) {}
  void post(Task task) override { inner_.post(std::move(task)); }
  void after(std::int64_t delay_ms, Task task) override { inner_.after(delay_ms, std::move(task)); }
  void offload(Lane, Task work, Task done) override {
    works_.push_back([work = std::move(work), done = std::move(done)] { work(), done(); });
  }
  void settle() { inner_.run_until_idle(); }
  void rest_ms(std::int64_t ms) { inner_.advance_ms(ms); }
  std::size_t left() const { return works_.size(); }
  void work(std::size_t count) {
    for (; count > 0; --count) {
      ASSERT_FALSE(works_.empty());
      const Task next = std::move(works_.front());
      works_.pop_front();
      next();
      settle();
    }
  }

 private:
  core::testing::ManualLoop inner_;
  std::deque<Task> works_;
};

constexpr const char* kInput = "x0";  // as GraphMaker names it

/// Answers with what it is asked, and remembers that, and how much it was at once.
class EchoFactory final : public rollout::EngineFactory {
 public:
  std::vector<std::size_t> asked_at_once;
  std::vector<float> asked;
  bool was_cancelled = false;  // before anything was loaded
  bool lies = false;           // answers with more than the model declares

 private:
  class Echo final : public rollout::Engine {
   public:
    explicit Echo(EchoFactory& made_by) : made_by_(made_by) {
      graph::testing::GraphMaker maker;
      maker.output(maker.input({1}));
      graph_ = maker.finish();
    }
    const receipt::ModelRoots& roots() const override { return roots_; }
    const graph::Graph& graph() const override { return *graph_; }
    core::Result<receipt::Values> run(std::uint64_t, const receipt::Values& inputs,
                                      const std::optional<noise::Noise>&,
                                      const graph::RunOptions&) override {
      made_by_.asked.push_back(inputs[0].data<float>()[0]);
      const std::vector<float> more(5, 1);
      if (made_by_.lies) return receipt::Values{tensor::Tensor::of<float>({5}, std::span(more))};
      return inputs;
    }
    std::vector<core::Result<receipt::Values>> run_all(std::span<const receipt::Values> requests,
                                                       const graph::RunOptions& options) override {
      made_by_.asked_at_once.push_back(requests.size());
      return Engine::run_all(requests, options);
    }

   private:
    std::shared_ptr<const graph::Graph> graph_;
    receipt::ModelRoots roots_{};
    EchoFactory& made_by_;
  };
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path&,
                                                      const std::vector<protocol::Feed>&,
                                                      const std::stop_token& cancel) override {
    was_cancelled = cancel.stop_requested();
    return std::make_unique<Echo>(*this);
  }
};

/// Remembers how many commitments each batch had.
class Listener final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    const auto* commit = std::get_if<rpc::Commit>(&message);
    if (commit != nullptr) {
      batches.push_back(commit->items.size());
      committed = commit->items.back().job;
      commitment = commit->items.back().commitment;
      std::vector<core::Digest> jobs;
      for (const rpc::Commit::Item& item : commit->items) jobs.push_back(item.job);
      if (answer) answer(std::move(jobs));
    }
    refused += std::holds_alternative<rpc::Refuse>(message) ? 1 : 0;
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string&,
                                 const rpc::Received&) override {
    return {};
  }
  std::vector<std::size_t> batches;
  core::Digest committed{};   // the last job
  core::Digest commitment{};  // to its step
  int refused = 0;
  std::function<void(std::vector<core::Digest> jobs)> answer;  // to a batch; none: silence
};

class ProviderTest : public ::testing::Test {
 protected:
  explicit ProviderTest(AtOnce tasks_at_once = {},
                        std::uint64_t answer_bytes_max = limits::kStoreValueBytesMax) {
    ProviderDependencies deps{loop_, clock_, rng_, store_, key_, listener_, engines_};
    deps.closing = closing_.get_token();
    ProviderConfig config;
    config.folder = folder_;
    config.commit_wait_ms_max = 100;
    config.tasks_at_once = std::move(tasks_at_once);
    config.answer_bytes_max = answer_bytes_max;
    provider_ = *Provider::create(deps, config);
  }
  ~ProviderTest() override { std::filesystem::remove_all(folder_); }

  void ask(std::size_t count, std::uint8_t model = 0, std::uint8_t client = 0) {
    for (; count > 0; --count) {
      rpc::Offer offer{};
      offer.model[0] = model;
      offer.job.provider = key_.address();
      offer.job.client.bytes[0] = client;
      offer.job.numerics_version = kernels::kNumericsVersion;
      const float value = static_cast<float>(++asked_);
      offer.inputs = {{kInput, tensor::Tensor::of<float>({1}, std::span(&value, 1))}};
      offer.batching = batching_;
      offer.job.input_commitment =
          protocol::commit_input(receipt::state_root(offer.inputs), offer.input_salt);
      provider_->on_message(std::move(offer));
    }
    loop_.settle();
  }

  /// A gateway that has done with a batch as soon as it comes: none of it is to be signed any more.
  void answer_batches() {
    listener_.answer = [this](const std::vector<core::Digest>& jobs) {
      loop_.post([this, jobs] { provider_->on_message(rpc::Withdraw{jobs}); });
    };
  }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("provider-{}", ::getpid());
  core::ManualClock clock_;
  SlowLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  Listener listener_;
  EchoFactory engines_;
  std::stop_source closing_;
  std::shared_ptr<Provider> provider_;
  std::uint64_t asked_ = 0;
  std::optional<rpc::Batching> batching_;  // of what is asked
};

using Sizes = std::vector<std::size_t>;

TEST_F(ProviderTest, OneTaskAtATimeNeverWaits) {
  answer_batches();
  for (int i = 0; i < 3; ++i) {
    ask(1);
    loop_.work(1);
  }
  EXPECT_EQ(listener_.batches, (Sizes{1, 1, 1}));
  EXPECT_EQ(listener_.refused, 0);
}

// What comes while a batch is on its way to be signed goes with the next, or after a moment.
TEST_F(ProviderTest, AnswersGatherWhileOthersAreToBeSigned) {
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{1});
  ask(1);
  loop_.work(1);
  ask(2);
  loop_.work(2);
  loop_.rest_ms(limits::kGatherMs - 1);
  EXPECT_EQ(listener_.batches, Sizes{1});
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, (Sizes{1, 3}));
}

TEST_F(ProviderTest, AnswersWaitWhileMoreTasksAreAhead) {
  answer_batches();
  ask(16);
  loop_.work(7);
  EXPECT_EQ(listener_.batches, Sizes{});
  loop_.work(1);  // as many answers as tasks
  EXPECT_EQ(listener_.batches, Sizes{8});
  ask(8);
  loop_.work(8);
  EXPECT_EQ(listener_.batches, (Sizes{8, 8}));
  loop_.work(8);
  EXPECT_EQ(listener_.batches, (Sizes{8, 8, 4, 2, 1, 1}));
}

TEST_F(ProviderTest, NoAnswerWaitsLongerThanItMay) {
  answer_batches();
  ask(16);
  loop_.work(1);
  loop_.rest_ms(60);
  loop_.work(2);
  loop_.rest_ms(39);
  EXPECT_EQ(listener_.batches, Sizes{});
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, Sizes{3});
  // A timer that was set for a batch that is gone does nothing.
  loop_.work(7);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7}));
  loop_.work(1);
  loop_.rest_ms(99);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7}));
  loop_.rest_ms(1);
  EXPECT_EQ(listener_.batches, (Sizes{3, 7, 1}));
}

class TinyProviderTest : public ProviderTest {
 protected:
  TinyProviderTest() : ProviderTest({}, 14) {}  // one float goes in and out, and as much beside
};

TEST_F(TinyProviderTest, WhatIsTooLargeToBeKeptIsNotSigned) {
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{});
  EXPECT_EQ(listener_.refused, 1);
}

// The fault: whoever pushed a model that declares its outputs wrongly had every honest provider
// avoided, which had computed what the model says.
TEST_F(ProviderTest, WhatTheModelDoesNotDeclareIsNotSigned) {
  engines_.lies = true;
  ask(1);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{});
  EXPECT_EQ(listener_.refused, 1);
}

class BatchingProviderTest : public ProviderTest {
 protected:
  BatchingProviderTest() : ProviderTest({4}) {}
};

TEST_F(BatchingProviderTest, TasksThatWaitForOneModelAreComputedTogether) {
  answer_batches();
  ask(6, 1);
  ask(1, 2);
  ask(1, 1);
  loop_.work(1);
  ask(1, 1);
  loop_.work(8);
  // The first, and with it the next three; those that are left of its model; the other model's.
  EXPECT_EQ(engines_.asked_at_once, (Sizes{4, 4, 1}));
  std::size_t answers = 0;
  for (const std::size_t batch : listener_.batches) answers += batch;
  EXPECT_EQ(answers, 9U);
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(BatchingProviderTest, AJobWaitsForOthersAsLongAsItMay) {
  answer_batches();
  batching_ = rpc::Batching{2'500, 8, {}};
  ask(2, 1);
  loop_.rest_ms(2);
  EXPECT_EQ(loop_.left(), 0u);
  loop_.rest_ms(1);
  loop_.work(loop_.left());
  ask(4, 1);  // as many as may be
  EXPECT_EQ(loop_.left(), 1u);
  loop_.work(1);
  loop_.rest_ms(3);
  EXPECT_EQ(loop_.left(), 0u);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{2, 4}));
  EXPECT_EQ(provider_->status().runs.runs, 2u);
  EXPECT_EQ(provider_->status().runs.tasks, 6u);
}

// The fault would be: who has been computed waits for its signature until those behind it are.
TEST_F(BatchingProviderTest, NoAnswerWaitsForThoseThatWaitForOthers) {
  answer_batches();
  ask(1, 1);
  batching_ = rpc::Batching{50'000, 8, {}};
  ask(2, 2);
  loop_.work(1);
  EXPECT_EQ(listener_.batches, Sizes{1});
}

/// Of the model whose digest begins with 1, two at a time.
class TunedProviderTest : public ProviderTest {
 protected:
  TunedProviderTest() : ProviderTest({4, {{core::Digest{1}, 2}}}) {}
};

TEST_F(TunedProviderTest, AModelMayHaveANumberOfItsOwn) {
  ask(3, 1);
  ask(6, 2);
  loop_.work(9);
  Sizes sizes = engines_.asked_at_once;
  std::ranges::sort(sizes);
  EXPECT_EQ(sizes, (Sizes{1, 2, 2, 4}));
}

TEST_F(BatchingProviderTest, WhoAsksAloneIsComputedAlone) {
  ask(1);
  loop_.work(1);
  ask(1);
  loop_.work(1);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{1, 1}));
}

TEST_F(ProviderTest, OneAtATimeUnlessToldOtherwise) {
  ask(3);
  loop_.work(3);
  EXPECT_EQ(engines_.asked_at_once, (Sizes{1, 1, 1}));
}

// However much one has sent, somebody else waits for one step of it.
TEST_F(ProviderTest, ClientsTakeTurns) {
  ask(5, 0, 1);
  ask(2, 0, 2);
  ask(1, 0, 3);
  loop_.work(8);
  EXPECT_EQ(engines_.asked, (std::vector<float>{1, 6, 8, 2, 7, 3, 4, 5}));
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, LoadingAModelIsCancelledToo) {
  ask(1, 1);
  loop_.work(1);
  EXPECT_FALSE(engines_.was_cancelled);
  closing_.request_stop();
  ask(1, 2);
  loop_.work(1);
  EXPECT_TRUE(engines_.was_cancelled);
}

TEST_F(ProviderTest, AnOfferThatIsRepeatedIsComputedOnce) {
  ask(1);
  --asked_;
  ask(1);  // in the queue
  loop_.work(1);
  const core::Digest commitment = listener_.commitment;
  --asked_;
  ask(1);  // waiting for its signature: the same again
  EXPECT_EQ(provider_->status().queued, 0u);
  EXPECT_EQ(engines_.asked_at_once, Sizes{1});
  EXPECT_EQ(listener_.batches, (Sizes{1, 1}));
  EXPECT_EQ(listener_.commitment, commitment);
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, AWithdrawnCommitmentWaitsForNoSignature) {
  ask(1);
  loop_.work(1);
  provider_->on_message(rpc::Withdraw{{listener_.committed}});
  --asked_;
  ask(1);  // nothing is known of it any more
  loop_.work(1);
  EXPECT_EQ(listener_.batches, (Sizes{1, 1}));
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, ASignatureForAnUnknownJobIsPassedOver) {
  provider_->on_message(rpc::Countersign{{{core::Digest{1}, 1, {}}}});
  loop_.settle();
  EXPECT_EQ(listener_.refused, 0);
}

TEST_F(ProviderTest, WhatWaitsForASignatureCountsAsQueued) {
  constexpr auto kMost = static_cast<std::size_t>(limits::kProviderQueueMax);
  ask(kMost / 2);
  loop_.work(kMost / 2);
  ask(kMost / 2);
  EXPECT_EQ(listener_.refused, 0);
  ask(1);
  EXPECT_EQ(listener_.refused, 1);
}

}  // namespace
}  // namespace commensal::provider
