// SPDX-License-Identifier: Apache-2.0
// Models that a gateway has let go of: when their files go, and whose they are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <commensal/serve/provider/holdings.hpp>
#include <commensal/serve/provider/provider.hpp>
#include <fstream>
#include <set>

namespace commensal::provider {
namespace {

using Item = rpc::Released::Item;

/// A gateway that hands out whatever it is asked for.
class Shelf final : public rpc::GatewayClient {
 public:
  void attach(std::shared_ptr<rpc::ProviderPort>) override {}
  void send(rpc::ToGateway message) override {
    if (const auto* const word = std::get_if<rpc::Released>(&message))
      released.insert(released.end(), word->items.begin(), word->items.end());
  }
  rpc::Channel channel() const override { return {}; }
  core::Result<void> fetch_model(const std::string&, const core::Digest&, const std::string& path,
                                 const rpc::Received&) override {
    std::ofstream(path) << "weights";
    return {};
  }
  std::vector<Item> released;
};

/// Counts what it is to forget.
class Forgetful final : public rollout::EngineFactory {
 public:
  core::Result<std::unique_ptr<rollout::Engine>> load(const core::Path&,
                                                      const std::vector<protocol::Feed>&,
                                                      const std::stop_token&) override {
    return core::fail(core::ErrorCode::kUnsupported, "nothing is computed here");
  }
  void forget(const core::Digest& model) override { forgotten.insert(model); }
  std::multiset<core::Digest> forgotten;
};

class ReleasesTest : public ::testing::Test {
 protected:
  ReleasesTest() { start(); }
  ~ReleasesTest() override { std::filesystem::remove_all(folder_); }
  /// Ends the one that is there, as a kill does.
  void start(const std::string& dials = "one") {
    provider_.reset();
    const ProviderDependencies deps{.loop = loop_,
                                    .clock = clock_,
                                    .rng = rng_,
                                    .store = faults_,
                                    .key = key_,
                                    .gateway = shelf_,
                                    .engines = engines_};
    provider_ = *Provider::create(
        deps, {.name = "p", .folder = folder_, .gateway = dials, .tasks_at_once = {}, .purse = {}});
    provider_->start();
    loop_.run_until_idle();
  }
  void meet(const crypto::SecretKey& gateway) {
    const crypto::Address own = gateway.address();
    provider_->on_message(rpc::Challenge{
        {}, own, crypto::sign(gateway, rpc::challenge_digest({}, own, rpc::Channel{})), {}});
    provider_->on_message(rpc::Welcome{"token", std::string(rpc::kVersion)});
    loop_.run_until_idle();
  }
  void fetch(std::uint8_t model) { say(rpc::Prefetch{core::Digest{model}, 7}); }
  /// What is answered.
  std::vector<Item> release(std::uint8_t model) {
    shelf_.released.clear();
    say(rpc::Release{{core::Digest{model}}});
    return shelf_.released;
  }
  void say(rpc::ToProvider word) {
    provider_->on_message(std::move(word));
    loop_.run_until_idle();
  }
  core::Path path_of(std::uint8_t model) const {
    return folder_ / "models" / (core::to_hex(core::Digest{model}) + ".onnx");
  }
  bool has(std::uint8_t model) const { return std::filesystem::exists(path_of(model)); }
  std::uint64_t now_ms() const { return static_cast<std::uint64_t>(clock_.wall_ms()); }
  static Item gone(std::uint8_t model) { return {core::Digest{model}, 0}; }

  const core::Path folder_ =
      core::Path(::testing::TempDir()) / fmt::format("releases-{}", ::getpid());
  core::ManualClock clock_;
  core::testing::ManualLoop loop_{clock_};
  core::CounterRng rng_{1};
  store::MemoryStore store_;
  store::testing::FaultStore faults_{store_, UINT64_MAX, store::testing::Fault::kFailBefore};
  const crypto::SecretKey key_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey one_ = crypto::SecretKey::generate(rng_);
  const crypto::SecretKey other_ = crypto::SecretKey::generate(rng_);
  Shelf shelf_;
  Forgetful engines_;
  std::shared_ptr<Provider> provider_;
};

TEST_F(ReleasesTest, TheFileGoesAndItIsSaid) {
  meet(one_);
  fetch(1);
  fetch(2);
  ASSERT_TRUE(has(1));
  EXPECT_EQ(release(1), std::vector{gone(1)});
  EXPECT_FALSE(has(1));
  EXPECT_TRUE(has(2));
  EXPECT_EQ(release(1), std::vector{gone(1)}) << "who asks again is answered again";
  EXPECT_EQ(release(3), std::vector{gone(3)}) << "it was never here";
  fetch(1);
  EXPECT_TRUE(has(1));
}

TEST_F(ReleasesTest, NobodyIsHeardWhoHasNotProvedItsKey) {
  meet(one_);
  fetch(1);
  start();
  EXPECT_TRUE(release(1).empty());
  EXPECT_TRUE(has(1));
}

TEST_F(ReleasesTest, AGatewayCannotHaveAnothersModelsRemoved) {
  meet(one_);
  fetch(1);
  fetch(2);
  start("other");
  meet(other_);
  fetch(3);
  EXPECT_EQ(release(1), std::vector{gone(1)}) << "nothing is kept for it";
  EXPECT_TRUE(has(1));
  start();
  meet(one_);
  EXPECT_EQ(release(3), std::vector{gone(3)});
  EXPECT_TRUE(has(3));
  EXPECT_EQ(release(1), std::vector{gone(1)});
  EXPECT_FALSE(has(1));
}

TEST_F(ReleasesTest, AFileOfAnEarlierReleaseIsNobodys) {
  std::ofstream(path_of(9)) << "weights";
  start();
  meet(other_);
  EXPECT_EQ(release(9), std::vector{gone(9)});
  EXPECT_FALSE(has(9));
}

TEST_F(ReleasesTest, WhatMayBeDisputedStaysUntilItCannotWhateverComesBetween) {
  meet(one_);
  fetch(1);
  const std::uint64_t until = now_ms() + 64'000;
  {
    Holdings held(store_, [](const core::Digest&) { return true; });
    ASSERT_TRUE(held.open());
    ASSERT_TRUE(held.owe({core::Digest{1}, one_.address()}, until, now_ms()));
  }
  start();
  meet(one_);
  const auto answer = release(1);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_GE(answer[0].until_ms, until);
  EXPECT_LE(answer[0].until_ms, until + 4'000);
  start("other");  // it is not dialled again
  loop_.advance_ms(63'000);
  EXPECT_TRUE(has(1));
  loop_.advance_ms(70'000);
  EXPECT_FALSE(has(1));
}

TEST_F(ReleasesTest, WhatIsAskedForAgainStays) {
  meet(one_);
  fetch(1);
  {
    Holdings held(store_, [](const core::Digest&) { return true; });
    ASSERT_TRUE(held.open());
    ASSERT_TRUE(held.owe({core::Digest{1}, one_.address()}, now_ms() + 64'000, now_ms()));
  }
  start();
  meet(one_);
  ASSERT_NE(release(1).at(0).until_ms, 0u);
  fetch(1);
  loop_.advance_ms(200'000);
  EXPECT_TRUE(has(1));
}

// The fault: it was said that it is gone, and then it came.
TEST_F(ReleasesTest, WhatIsOnItsWayGoesWhenItHasCome) {
  meet(one_);
  fetch(1);  // that there are holdings, which are looked through
  provider_->on_message(rpc::Prefetch{core::Digest{2}, 7});
  shelf_.released.clear();
  provider_->on_message(rpc::Release{{core::Digest{2}}});
  ASSERT_EQ(shelf_.released.size(), 1u);
  EXPECT_NE(shelf_.released[0].until_ms, 0u);
  loop_.advance_ms(5'000);
  EXPECT_FALSE(has(2));
  EXPECT_EQ(shelf_.released.back(), gone(2));
  EXPECT_TRUE(has(1));
}

TEST_F(ReleasesTest, WhatIsOnItsWayAndAskedForAgainStays) {
  meet(one_);
  provider_->on_message(rpc::Prefetch{core::Digest{2}, 7});
  provider_->on_message(rpc::Release{{core::Digest{2}}});
  provider_->on_message(rpc::Prefetch{core::Digest{2}, 7});
  loop_.advance_ms(5'000);
  EXPECT_TRUE(has(2));
}

// The fault: what was packed, and the worker, stayed where the cache had let go of the file.
TEST_F(ReleasesTest, WhatWasMadeOfAFileThatTheCacheLetGoOfGoesToo) {
  meet(one_);
  fetch(1);
  std::filesystem::remove(path_of(1));
  fetch(2);  // and it is no longer known that there was such a file
  EXPECT_EQ(release(1), std::vector{gone(1)});
  EXPECT_EQ(engines_.forgotten.count(core::Digest{1}), 1u);
  EXPECT_EQ(engines_.forgotten.count(core::Digest{2}), 0u);
}

TEST_F(ReleasesTest, EachTimeItIsAskedItAnswers) {
  meet(one_);
  fetch(1);
  shelf_.released.clear();
  for (int i = 0; i < 3; ++i) provider_->on_message(rpc::Release{{core::Digest{1}}});
  loop_.run_until_idle();
  ASSERT_EQ(shelf_.released.size(), 3u);
  EXPECT_EQ(shelf_.released.back(), gone(1));
}

TEST_F(ReleasesTest, MuchIsLetGoOfInOneWrite) {
  meet(one_);
  rpc::Release all;
  for (std::uint8_t model = 1; model <= 9; ++model) {
    fetch(model);
    all.models.push_back(core::Digest{model});
  }
  const std::uint64_t before = faults_.applies();
  provider_->on_message(all);
  EXPECT_EQ(faults_.applies(), before + 1);
  loop_.run_until_idle();
  for (std::uint8_t model = 1; model <= 9; ++model) EXPECT_FALSE(has(model));
}

TEST_F(ReleasesTest, HoldingsOfFilesThatAreGoneGo) {
  meet(one_);
  fetch(1);
  std::filesystem::remove(path_of(1));
  start();
  Holdings held(store_, [](const core::Digest&) { return true; });
  ASSERT_TRUE(held.open());
  EXPECT_EQ(held.find({core::Digest{1}, one_.address()}), nullptr);
}

}  // namespace
}  // namespace commensal::provider
