// SPDX-License-Identifier: Apache-2.0
// Requests of several accounts in one run, with levels, delays, time-outs and consumers that leave:
// each answer is the one that its request gets alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/lab/sim/testing/market_fixture.hpp>
#include <commensal/verify/receipt/opening.hpp>

namespace commensal::sim {
namespace {

using namespace testing;

/// So many pictures, the first of them picture number i.
tensor::NamedTensors pictures(std::uint64_t i, std::int64_t count) {
  std::vector<float> pixels;
  for (std::uint64_t k = 0; k < 64 * static_cast<std::uint64_t>(count); ++k)
    pixels.push_back(8.0f + 8.0f * core::counter_symmetric_f32(99, i, k));
  const auto shape = tensor::Shape::of(std::vector<std::int64_t>{count, 1, 8, 8});
  return {{"image", tensor::Tensor::of<float>(*shape, std::span<const float>(pixels))}};
}

class EqualityOfBatches : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  struct Asked {
    tensor::NamedTensors inputs;
    std::stop_source left;
    std::optional<core::Result<gateway::InferResponse>> response;
  };

  void SetUp() override {
    gateway::GatewayConfig config;
    config.audit_probability = 0.2;
    market_ = std::make_unique<Market>(GetParam(), scratch(fmt::format("batches-{}", GetParam())),
                                       config);
    ASSERT_TRUE(market_->start_gateway());
    ASSERT_TRUE(market_->push("digits", digits()));
    market_->set_at_once(8);
    market_->add_provider("a");
    market_->add_provider("b");
    engine_ = *engines_of_this_process()->load(kDigits, {}, {});
  }

  std::uint32_t below(std::uint32_t bound) { return rng_.next_u32() % bound; }

  /// What a configuration, a priority and a time-out may come to.
  gateway::Scheduling some_terms() {
    gateway::Scheduling terms;
    if (below(4) == 0) return terms;
    terms.level = below(4);
    terms.queue_max = below(3) == 0 ? 4 : 0;
    terms.queue_timeout_ms = below(3) == 0 ? 1 + below(20) : 0;
    terms.is_delayed_then = below(2) == 0;
    terms.batching = rpc::Batching{below(3) * 4'000, 12, {}};
    if (below(2) == 0) terms.batching->preferred = {4, 8};
    return terms;
  }

  void ask_one(std::uint64_t number) {
    Asked& asked = *asked_.emplace_back(std::make_unique<Asked>());
    asked.inputs = pictures(number, 1 + below(3));
    const std::string account(1, static_cast<char>('a' + below(3)));
    market_->gateway().infer({.account = {.name = account, .role = gateway::Role::kConsumer},
                              .model = "consumer/digits",
                              .version = 0,
                              .inputs = asked.inputs,
                              .outputs = {},
                              .left = asked.left.get_token(),
                              .timeout_ms = below(8) == 0 ? 1 + below(30) : 0,
                              .scheduling = some_terms()},
                             [&asked](core::Result<gateway::InferResponse> response) {
                               asked.response.emplace(std::move(response));
                             });
  }

  /// Whether it was answered; an answer is held against the one computed alone.
  bool check(const Asked& asked) {
    EXPECT_TRUE(asked.response.has_value()) << "each is answered once";
    if (!asked.response || !*asked.response) return false;
    const auto alone = engine_->run(1, {asked.inputs[0].value}, std::nullopt);
    EXPECT_TRUE(alone.has_value());
    const gateway::InferResponse& response = **asked.response;
    EXPECT_EQ(response.outputs.size(), alone->size());
    for (std::size_t i = 0; i < alone->size(); ++i) {
      const tensor::Tensor& got = response.outputs[i].value;
      EXPECT_EQ(got.type(), (*alone)[i].type());
      EXPECT_TRUE(std::ranges::equal(got.bytes(), (*alone)[i].bytes()));
    }
    return true;
  }

  core::CounterRng rng_{GetParam()};
  std::unique_ptr<Market> market_;
  std::unique_ptr<rollout::Engine> engine_;
  std::vector<std::unique_ptr<Asked>> asked_;
};

TEST_P(EqualityOfBatches, EachAnswerIsTheOneThatItsRequestGetsAlone) {
  constexpr std::uint64_t kRequests = 300;
  for (std::uint64_t i = 0; i < kRequests; ++i) {
    ask_one(i);
    if (below(12) == 0) asked_[below(static_cast<std::uint32_t>(i + 1))]->left.request_stop();
    if (below(6) == 0) market_->rest_ms(below(12));
  }
  market_->rest_ms(120'000);
  std::size_t answered = 0;
  for (const auto& asked : asked_) answered += check(*asked) ? 1 : 0;
  EXPECT_GT(answered, kRequests / 2);
  std::uint64_t runs = 0, tasks = 0;
  for (const std::size_t i : {0, 1}) {
    runs += market_->status_of(i).runs.runs;
    tasks += market_->status_of(i).runs.tasks;
  }
  EXPECT_GT(tasks, 2 * runs) << "many share a run";
  const auto all =
      *market_->gateway().receipts().select([](const gateway::ReceiptRecord&) { return true; });
  EXPECT_GE(all.size(), answered) << "each has its own receipt";
  std::size_t audited = 0;
  for (const gateway::ReceiptRecord& record : all) {
    EXPECT_NE(record.audit, gateway::AuditState::kMismatched);
    audited += record.audit == gateway::AuditState::kMatched ? 1 : 0;
  }
  EXPECT_GT(audited, 0u) << "each alone";
}

INSTANTIATE_TEST_SUITE_P(Equality, EqualityOfBatches, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace commensal::sim
