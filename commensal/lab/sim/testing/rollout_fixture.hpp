// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/sim/testing/money_fixture.hpp>
#include <commensal/serve/gateway/rollouts.hpp>

/// For tests of rollouts in a market: the network of letters, and a consumer that waits for them.
namespace commensal::sim::testing {

using gateway::RolloutState;
using gateway::RolloutStatus;

inline const char* const kLetters = COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx";
inline const gateway::Account kConsumer{.name = "consumer", .role = gateway::Role::kConsumer};

class MoneyRollouts : public MoneyTrip {
 protected:
  static gateway::RolloutRequest letters(std::uint64_t steps, std::optional<int> noise,
                                         double audits) {
    const std::vector<std::int64_t> letter = {20};
    const std::vector<float> state(160, 0);
    return {.account = kConsumer,
            .key = "one",
            .model = "consumer/letters",
            .version = 0,
            .inputs = {{"letter", tensor::Tensor::of<std::int64_t>({1}, letter)},
                       {"state", tensor::Tensor::of<float>({1, 160}, state)}},
            .feeds = {{"next", "letter"}, {"state_out", "state"}},
            .steps = steps,
            .noise_exponent = noise,
            .states = noise ? protocol::StateRule::kMovable : protocol::StateRule::kFinite,
            .audit_probability = audits};
  }
  void prepare_letters(Market& market) {
    prepare(market);
    ASSERT_TRUE(market.push("letters", *core::read_file(kLetters)));
  }
  /// Asks, and asks again with the same key, until it is over: whoever crashes comes back.
  static RolloutStatus drive(Market& market, const gateway::RolloutRequest& request) {
    std::string last;
    for (int rounds = 0; rounds < 400; ++rounds) {
      if (market.gateway_crashed()) {
        market.kill_gateway();
        EXPECT_TRUE(market.start_gateway());
        market.rest_ms(12'000);  // until the provider dials again
      }
      const auto status = market.gateway().rollouts().create(request);
      market.rest_ms(100);
      if (market.gateway_crashed()) continue;
      if (!status) last = status.error().message;
      if (!status || status->entry.state == RolloutState::kRunning) continue;
      if (status->audits.open.empty()) return *status;
    }
    ADD_FAILURE() << "no end: " << last;
    return {};
  }
};

}  // namespace commensal::sim::testing
