// SPDX-License-Identifier: Apache-2.0
// A model that is asked for often comes to a provider that nobody has asked for it.
#include <gtest/gtest.h>

#include <commensal/lab/sim/testing/market_fixture.hpp>
#include <set>

namespace commensal::sim {
namespace {

using namespace testing;

/// The digit network under another name of who made it, so that it is another file.
core::Bytes digits_of_somebody_else() {
  core::Bytes model = digits();
  for (const std::uint8_t byte : {0x12, 0x01, 0x78}) model.push_back(byte);  // producer_name "x"
  return model;
}

TEST(MarketPrefetch, AModelThatIsAskedForOftenComesToWhoHasNeverBeenAskedForIt) {
  Market market(23, scratch("prefetch"));
  ASSERT_TRUE(market.start_gateway());
  ASSERT_TRUE(market.push("known", digits()));
  ASSERT_TRUE(market.push("wanted", digits_of_somebody_else()));
  for (const char* const name : {"a", "b"}) market.add_provider(name);
  const auto ask = [&](const std::string& model, std::uint64_t count) {
    std::set<crypto::Address> providers;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto answer = market.infer(model, picture(i));
      EXPECT_TRUE(answer) << answer.error().message;
      if (answer) providers.insert(answer->provider);
    }
    return providers;
  };
  ASSERT_EQ(ask("known", 20).size(), 2u);
  market.rest_ms(60'000);
  ASSERT_EQ(ask("wanted", 6).size(), 1u);
  market.rest_ms(1'000);
  for (const auto& info : market.gateway().providers()) EXPECT_EQ(info.cached_models, 2u);
  EXPECT_EQ(ask("wanted", 20).size(), 2u);
}

}  // namespace
}  // namespace commensal::sim
