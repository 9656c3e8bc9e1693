// SPDX-License-Identifier: Apache-2.0
// Weights leave providers once their gateway lets go of them: of a model that was deleted, or that
// a provider may not have any more or does not need; whoever is away or killed, and when. With
// money and statements: private_release_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/lab/sim/adversaries.hpp>
#include <commensal/lab/sim/testing/private_fixture.hpp>
#include <map>
#include <numeric>
#include <set>

namespace commensal::sim {
namespace {

using namespace testing;
using store::testing::Fault;
using ::testing::ElementsAre;

constexpr std::int64_t kMinute = 60'000, kHour = 60 * kMinute;

/// Without money: nothing can be disputed.
class MarketRelease : public ::testing::Test {
 protected:
  static core::Path folder() {
    return scratch(::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  std::unique_ptr<Market> open(std::uint64_t seed, const gateway::GatewayConfig& config = {}) {
    auto market = std::make_unique<Market>(seed, folder(), config);
    EXPECT_TRUE(market->start_gateway());
    for (const char* const name : {"a", "b"}) market->add_provider(name);
    market->rest_ms(10);
    EXPECT_TRUE(push(*market));
    return market;
  }
  static bool push(Market& market) {
    return bool(market.push(
        "digits", digits(),
        {.is_private = true, .allowed_providers = {market.address_of(0), market.address_of(1)}}));
  }
  /// Until both have it.
  static void use(Market& market) {
    for (std::uint64_t i = 0; i < 20; ++i) (void)market.infer("digits", picture(i));
  }
  static std::size_t holders(Market& market) { return market.gateway().holders().rows().size(); }
  static void remove(Market& market) {
    EXPECT_TRUE(market.gateway().hub().remove(kConsumer, "consumer/digits"));
  }
  /// So many private versions of one model lie at provider 0, "a", which is away, unnoted.
  static void leave_many(Market& market, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      core::Bytes version = digits();
      const std::string more = fmt::format("{:04}", i);
      version.insert(version.end(), {0x12, 4});  // a producer's name
      version.insert(version.end(), more.begin(), more.end());
      ASSERT_TRUE(market.push("digits", version,
                              {.is_private = true, .allowed_providers = {market.address_of(0)}}));
      const std::string name = core::to_hex(crypto::sha256(version)) + ".onnx";
      ASSERT_TRUE(core::write_file_atomically(folder() / "a" / "models" / name, version));
    }
  }
};

TEST_F(MarketRelease, ADeletedModelLeavesAllAtOnce) {
  auto market = open(61);
  use(*market);
  ASSERT_EQ(files("a") + files("b"), 2u);
  ASSERT_EQ(holders(*market), 2u);
  remove(*market);
  market->rest_ms(1'000);
  EXPECT_EQ(files("a") + files("b"), 0u);
  EXPECT_EQ(holders(*market), 0u);
  ASSERT_TRUE(push(*market));
  EXPECT_TRUE(market->infer("digits", picture(1))) << "it can come again";
}

TEST_F(MarketRelease, WhoIsOffTheListLosesItAndNobodyElse) {
  auto market = open(62);
  use(*market);
  ASSERT_TRUE(market->gateway().hub().allow(kConsumer, "consumer/digits", {market->address_of(1)}));
  market->rest_ms(1'000);
  EXPECT_EQ(files("a"), 0u);
  EXPECT_EQ(files("b"), 1u);
  ASSERT_EQ(holders(*market), 1u);
  EXPECT_EQ(market->gateway().holders().rows().begin()->first.provider, market->address_of(1));
}

TEST_F(MarketRelease, WhoWasAwayHearsOfItWhenItIsBackAndIsShownAsHavingItUntilThen) {
  auto market = open(63);
  use(*market);
  market->kill_provider(0);
  market->rest_ms(1'000);
  remove(*market);
  market->rest_ms(kMinute);
  EXPECT_EQ(files("a"), 1u);
  EXPECT_EQ(files("b"), 0u);
  ASSERT_EQ(holders(*market), 1u);
  EXPECT_EQ(market->gateway().holders().rows().begin()->second.holder.model, "consumer/digits");
  market->kill_gateway();
  ASSERT_TRUE(market->start_gateway());
  ASSERT_EQ(holders(*market), 1u);
  market->start_provider(0);
  market->rest_ms(kMinute);
  EXPECT_EQ(files("a"), 0u);
  EXPECT_EQ(holders(*market), 0u);
}

TEST_F(MarketRelease, PrivateWeightsGoWhereTheyAreNotUsedForADay) {
  auto market = open(64);
  ASSERT_TRUE(market->push("open", *core::read_file(kLetters)));
  use(*market);
  market->rest_ms(limits::kPrivateIdleMs - 2 * kHour);
  EXPECT_EQ(holders(*market), 2u);
  use(*market);
  market->rest_ms(limits::kPrivateIdleMs - 2 * kHour);
  EXPECT_EQ(files("a") + files("b"), 2u);
  market->rest_ms(3 * kHour);
  EXPECT_EQ(files("a") + files("b"), 0u);
  EXPECT_TRUE(market->infer("digits", picture(1)));
}

// One private model at a cheat, and whoever answers is audited.
TEST_F(MarketRelease, WhoIsCaughtIsAskedBeforeItIsSentAway) {
  Market market(77, folder(), gateway::GatewayConfig{.audit_probability = 1});
  ASSERT_TRUE(market.start_gateway());
  market.add_provider("a", make_bf16_cheat());
  const auto heard = hear_of_ends(market);
  ASSERT_TRUE(market.push("digits", digits(),
                          {.is_private = true, .allowed_providers = {market.address_of(0)}}));
  market.rest_ms(10);
  EXPECT_TRUE(market.infer("digits", picture(0)));
  market.rest_ms(1'000);
  ASSERT_FALSE(market.gateway().providers()[0].banned.empty());
  EXPECT_THAT(*heard, ElementsAre("0 lets go of 1", "0 is dismissed"));
  EXPECT_EQ(files("a"), 0u);
}

// The fault: what no gateway had noted was never asked back.
TEST_F(MarketRelease, WhatAnEarlierReleaseGaveOutGoesToo) {
  Market market(74, folder());
  ASSERT_TRUE(market.start_gateway());
  market.add_provider("a");
  market.add_provider("b");
  market.kill_provider(0);
  ASSERT_TRUE(push(market));
  const std::string name = core::to_hex(crypto::sha256(digits())) + ".onnx";
  ASSERT_TRUE(core::write_file_atomically(folder() / "a" / "models" / name, digits()));
  ASSERT_TRUE(core::write_file_atomically(
      folder() / "a" / "models" / (core::to_hex(core::Digest{7}) + ".onnx"), digits()));
  market.start_provider(0);
  market.rest_ms(1'000);
  ASSERT_EQ(holders(market), 1u) << "what this gateway knows";
  remove(market);
  market.rest_ms(1'000);
  EXPECT_EQ(files("a"), 1u);
  EXPECT_EQ(holders(market), 0u);
}

// The fault: all that a provider had was looked at in one turn, with a write for each.
TEST_F(MarketRelease, MuchIsLetGoOfInAFewWords) {
  constexpr std::size_t kMany = limits::kHoldersLookedAtMax + 40;
  Market market(76, folder());
  ASSERT_TRUE(market.start_gateway());
  market.add_provider("a");
  market.kill_provider(0);
  leave_many(market, kMany);
  market.start_provider(0);
  market.rest_ms(1'000);
  ASSERT_EQ(holders(market), kMany);
  market.kill_provider(0);
  market.rest_ms(1'000);
  remove(market);
  market.rest_ms(1'000);
  std::vector<std::size_t> asked;
  market.overhear([&](std::size_t, const rpc::ToProvider& word) {
    if (const auto* const release = std::get_if<rpc::Release>(&word))
      asked.push_back(release->models.size());
  });
  market.start_provider(0);
  market.rest_ms(10'000);
  EXPECT_LE(asked.size(), 3u);
  EXPECT_LE(*std::ranges::max_element(asked), limits::kHoldersLookedAtMax);
  EXPECT_EQ(std::accumulate(asked.begin(), asked.end(), std::size_t{0}), kMany);
  EXPECT_EQ(files("a"), 0u);
  EXPECT_EQ(holders(market), 0u);
}

// The faults: at its ban all that it had was looked at in one turn; when it came back, it was asked
// for the same first ones, however often.
TEST_F(MarketRelease, WhoIsBannedIsAskedForTheRestWhenItIsBack) {
  constexpr std::size_t kMany = limits::kHoldersLookedAtMax + 40;
  Market market(78, folder(), gateway::GatewayConfig{.audit_probability = 1});
  ASSERT_TRUE(market.start_gateway());
  market.add_provider("a", make_bf16_cheat());
  market.kill_provider(0);
  leave_many(market, kMany);
  std::vector<std::size_t> asked;
  market.overhear([&](std::size_t, const rpc::ToProvider& word) {
    if (const auto* const release = std::get_if<rpc::Release>(&word))
      asked.push_back(release->models.size());
  });
  market.start_provider(0);
  market.rest_ms(1'000);
  ASSERT_EQ(holders(market), kMany);
  EXPECT_TRUE(market.infer("digits", picture(0)));
  market.rest_ms(1'000);
  ASSERT_FALSE(market.gateway().providers()[0].banned.empty());
  ASSERT_THAT(asked, ElementsAre(limits::kHoldersLookedAtMax));
  market.kill_provider(0);
  market.start_provider(0);
  market.rest_ms(10'000);
  ASSERT_GE(asked.size(), 2u);
  EXPECT_EQ(asked[1], 40u);
  EXPECT_EQ(files("a"), 0u);
}

/// Whether a provider is asked for the same twice on one stream, though it was not given again.
class Twice {
 public:
  void hear(std::size_t provider, const rpc::ToProvider& word) {
    std::set<core::Digest>& asked = asked_[provider];
    if (std::holds_alternative<rpc::Challenge>(word)) asked.clear();
    if (const auto* const one = std::get_if<rpc::Offer>(&word)) asked.erase(one->model);
    if (const auto* const one = std::get_if<rpc::Prefetch>(&word)) asked.erase(one->model);
    const auto* const release = std::get_if<rpc::Release>(&word);
    if (release == nullptr) return;
    for (const core::Digest& model : release->models)
      has_been_ = has_been_ || !asked.insert(model).second;
  }
  bool has_been() const { return has_been_; }

 private:
  std::map<std::size_t, std::set<core::Digest>> asked_;
  bool has_been_ = false;
};

// Whoever comes, goes, is killed or cut off, and in whatever order: who is honest and comes back
// lets go of what was deleted, and is asked for nothing twice.
TEST_F(MarketRelease, InWhateverOrderAllHappens) {
  for (std::uint64_t seed = 200; seed < 230; ++seed) {
    SCOPED_TRACE(seed);
    auto market = open(seed);
    Twice twice;
    market->overhear([&](std::size_t provider, const auto& word) { twice.hear(provider, word); });
    core::CounterRng dice(seed);
    std::array<bool, 2> is_up = {true, true};
    bool is_there = true;
    const auto toggle = [&](std::size_t i) {
      is_up[i] ? market->kill_provider(i) : market->start_provider(i);
      is_up[i] = !is_up[i];
    };
    const auto remove_or_push = [&] {
      is_there ? remove(*market) : void(push(*market));
      is_there = !is_there;
    };
    for (int step = 0; step < 24; ++step) {
      const core::Digest draw = dice.next_digest();
      const std::size_t i = draw[1] % 2;
      switch (draw[0] % 8) {
        case 0:
          toggle(i);
          break;
        case 1:
          if (is_up[i]) market->cut(i);
          break;
        case 2:
          remove_or_push();
          break;
        case 3:
          market->kill_gateway();
          ASSERT_TRUE(market->start_gateway());
          break;
        case 4:
          if (is_there)
            (void)market->gateway().hub().allow(kConsumer, "consumer/digits",
                                                {market->address_of(i)});
          break;
        default:
          if (is_there) market->ask("digits", picture(draw[2]), [](const auto&) {});
      }
      market->rest_ms(draw[3] % 4 == 0 ? 20'000 : draw[4] % 40);
    }
    if (is_there) remove_or_push();
    for (std::size_t i = 0; i < 2; ++i) {
      if (!is_up[i]) toggle(i);
    }
    market->rest_ms(5 * kMinute);
    EXPECT_EQ(files("a") + files("b"), 0u);
    EXPECT_EQ(holders(*market), 0u);
    EXPECT_FALSE(twice.has_been());
  }
}

// Either side may be killed before or after any of its writes: in the end the weights are gone, and
// that is known.
TEST_F(MarketRelease, ItIsDoneWhicheverWriteAKillMeets) {
  const auto finish = [&](Market& market) {
    for (int rounds = 0; rounds < 8; ++rounds) {
      if (market.gateway_crashed()) {
        market.kill_gateway();
        ASSERT_TRUE(market.start_gateway());
      }
      if (market.gateway().hub().find(&kConsumer, "consumer/digits"))
        (void)market.gateway().hub().remove(kConsumer, "consumer/digits");
      market.rest_ms(20'000);
    }
    EXPECT_EQ(files("a") + files("b"), 0u);
    EXPECT_EQ(holders(market), 0u);
  };
  for (const Fault fault : {Fault::kCrashBefore, Fault::kCrashAfter}) {
    for (std::uint64_t write = 1; write <= 8; ++write) {
      SCOPED_TRACE(fmt::format("gateway, write {}", write));
      auto market = open(65 + write);
      use(*market);
      market->kill_gateway();
      market->break_gateway_at(write, fault);
      if (!market->start_gateway()) {
        market->kill_gateway();
        ASSERT_TRUE(market->start_gateway());
      }
      market->rest_ms(15'000);
      if (!market->gateway_crashed()) (void)market->infer("digits", picture(30), 5'000);
      if (!market->gateway_crashed())
        (void)market->gateway().hub().remove(kConsumer, "consumer/digits");
      market->rest_ms(1'000);
      finish(*market);
    }
    for (std::uint64_t write = 1; write <= 6; ++write) {
      SCOPED_TRACE(fmt::format("provider, write {}", write));
      auto market = open(85 + write);
      market->kill_provider(0);
      market->break_provider_at(0, write, fault);
      market->start_provider(0);
      market->rest_ms(100);
      use(*market);
      remove(*market);
      market->rest_ms(5'000);
      market->kill_provider(0);
      market->start_provider(0);
      market->rest_ms(100);
      finish(*market);
    }
  }
}

}  // namespace
}  // namespace commensal::sim
