// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_uploads.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/holders.hpp>

namespace commensal::gateway {
namespace {

class HoldersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = core::Path(::testing::TempDir()) / (std::string("commensal_holders_") + test->name());
    std::filesystem::remove_all(folder_);
    hub_ = std::make_unique<ModelHub>(store_, folder_, clock_);
    clock_.advance_ms(5);
    const core::Bytes digits =
        *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
    const auto pushed = hub_->push({"alice", Role::kConsumer}, "alice/m", digits,
                                   {.is_private = true, .allowed_providers = {key_.provider}});
    ASSERT_TRUE(pushed) << pushed.error().message;
    key_.content = pushed->content;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Holders read() {
    Holders again(store_, clock_, *hub_);
    EXPECT_TRUE(again.open());
    return again;
  }

  /// The same file at another provider.
  Holders::Key another(std::size_t index) const {
    Holders::Key key = key_;
    for (std::size_t byte = 0; byte < 4; ++byte)
      key.provider.bytes[byte + 1] = static_cast<std::uint8_t>(index >> (8 * byte));
    return key;
  }

  core::ManualClock clock_;
  core::Path folder_;
  store::MemoryStore store_;
  std::unique_ptr<ModelHub> hub_;
  Holders::Key key_{{{7}}, {}};
};

TEST_F(HoldersTest, KnowsWhoWasGivenWhatUntilItSaysThatItIsGone) {
  ASSERT_TRUE(read().note(key_));
  Holders holders = read();
  ASSERT_NE(holders.find(key_), nullptr);
  const Holder first = holders.find(key_)->holder;
  EXPECT_EQ(first.model, "alice/m");
  EXPECT_EQ(first.version, 1u);
  EXPECT_TRUE(first.is_private);
  EXPECT_FALSE(*holders.on_released(key_, 0)) << "it was not asked";
  clock_.advance_ms(1'000);
  ASSERT_TRUE(holders.ask(key_, 3));
  EXPECT_EQ(read().find(key_)->holder.asked_ms, clock_.wall_ms());
  EXPECT_FALSE(*holders.on_released(key_, 77));
  EXPECT_EQ(read().find(key_)->holder.until_ms, 77u);
  EXPECT_FALSE(*holders.on_released(key_, 78));
  EXPECT_EQ(read().find(key_)->holder.until_ms, 77u) << "it is not asked again: nothing is written";
  EXPECT_TRUE(*holders.on_released(key_, 0));
  EXPECT_TRUE(holders.rows().empty());
  EXPECT_TRUE(read().rows().empty());
  EXPECT_FALSE(*holders.on_released(key_, 5)) << "what is unknown leaves nothing";
  EXPECT_TRUE(holders.rows().empty());
}

TEST_F(HoldersTest, AnAnswerFromBeforeItWasGivenAgainCountsForNothing) {
  Holders holders = read();
  ASSERT_TRUE(holders.note(key_));
  ASSERT_TRUE(holders.ask(key_, 3));
  ASSERT_TRUE(holders.note(key_));
  EXPECT_EQ(read().find(key_)->holder.asked_ms, 0);
  ASSERT_TRUE(holders.ask(key_, 3));
  EXPECT_FALSE(*holders.on_released(key_, 0)) << "to the first";
  EXPECT_TRUE(*holders.on_released(key_, 0));
}

TEST_F(HoldersTest, WhenItWasUsedIsWrittenNowAndThen) {
  Holders holders = read();
  ASSERT_TRUE(holders.note(key_));
  const std::int64_t first_ms = clock_.wall_ms();
  clock_.advance_ms(limits::kHolderUsedMs - 1);
  ASSERT_TRUE(holders.note(key_));
  EXPECT_EQ(holders.find(key_)->holder.used_ms, clock_.wall_ms());
  EXPECT_EQ(read().find(key_)->holder.used_ms, first_ms);
  clock_.advance_ms(1);
  ASSERT_TRUE(holders.note(key_));
  EXPECT_EQ(read().find(key_)->holder.used_ms, clock_.wall_ms());
}

TEST_F(HoldersTest, WhoSaysThatItHasOneIsNotedAndAPublicOneCountsAsNeverUsed) {
  Holders holders = read();
  ASSERT_TRUE(holders.claim(key_));
  EXPECT_EQ(holders.find(key_)->holder.used_ms, clock_.wall_ms()) << "it may have it";
  const Holders::Key strangers{{{8}}, key_.content};
  ASSERT_TRUE(holders.claim(strangers));
  EXPECT_EQ(holders.find(strangers)->holder.used_ms, 0);
  const auto open = hub_->push(
      {"bob", Role::kConsumer}, "bob/m",
      *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/letters/letters.onnx"), {});
  ASSERT_TRUE(open);
  const Holders::Key other{key_.provider, open->content};
  ASSERT_TRUE(holders.claim(other));
  EXPECT_EQ(holders.find(other)->holder.used_ms, 0);
  EXPECT_EQ(read().find(other)->holder.model, "bob/m");
  ASSERT_TRUE(holders.note(other));
  ASSERT_TRUE(holders.claim(other));
  EXPECT_EQ(holders.find(other)->holder.used_ms, clock_.wall_ms()) << "noted is noted";
}

TEST_F(HoldersTest, AreFoundByTheirModelAndByItsOwner) {
  Holders holders = read();
  std::vector<Holders::Key> keys;
  std::vector<crypto::Address> who(4);
  for (std::uint8_t i = 1; i <= 3; ++i) {
    who[i].bytes[0] = i;
    keys.push_back({who[i], key_.content});
    keys.push_back({who[i], core::Digest{i}});  // nobody knows what it is
  }
  for (const Holders::Key& key : keys) ASSERT_TRUE(holders.note(key));
  ASSERT_TRUE(holders.ask(keys[2], 3));
  ASSERT_TRUE(*holders.on_released(keys[2], 0));
  using Addresses = std::set<crypto::Address>;
  const auto check = [&](const Holders& read) {
    EXPECT_EQ(*read.who_has(key_.content), (Addresses{who[1], who[3]}));
    EXPECT_EQ(*read.who_has(core::Digest{2}), Addresses{who[2]});
    EXPECT_EQ(read.who_has(core::Digest{9}), nullptr);
    const auto shown = [&](const std::string& owner, const Holders::Key& after) {
      std::size_t count = 0;
      read.visit(owner, after, [&](const Holders::Key&, const Holder&) { return ++count > 0; });
      return count;
    };
    EXPECT_EQ(shown("alice", {}), 2u);
    EXPECT_EQ(shown("alice", keys[0]), 1u);
    EXPECT_EQ(shown("alice", keys[4]), 0u);
    EXPECT_EQ(shown("ali", {}), 0u);
    EXPECT_EQ(shown("", {}), 5u);
    EXPECT_EQ(shown("", keys[2]), 2u) << "behind one that has gone since";
  };
  check(holders);
  check(read());
}

TEST_F(HoldersTest, BeyondTheMostThoseGoThatWereUsedLongestAgo) {
  Holders holders = read();
  ASSERT_TRUE(holders.note(key_));
  for (std::size_t i = 1; i <= limits::kHoldersMax; ++i) {
    clock_.advance_ms(1);
    ASSERT_TRUE(holders.note(another(i)));
  }
  EXPECT_LE(holders.rows().size(), limits::kHoldersMax);
  EXPECT_GT(holders.rows().size(), limits::kHoldersMax / 2);
  EXPECT_EQ(holders.find(key_), nullptr);
}

// The fault: they counted as used when they were claimed, and as private they went last.
TEST_F(HoldersTest, StrangersWhoClaimAPrivateFileDoNotPushOutWhoWasGivenIt) {
  Holders holders = read();
  ASSERT_TRUE(holders.note(key_));
  for (std::size_t i = 1; i <= limits::kHoldersMax; ++i) {
    clock_.advance_ms(1);
    ASSERT_TRUE(holders.claim(another(i)));
  }
  EXPECT_LE(holders.rows().size(), limits::kHoldersMax);
  EXPECT_NE(holders.find(key_), nullptr);
}

// The fault: whose models they are did not count. As many keys as one likes may be listed for each
// of one's private models, and what they claim was newer than what everybody else had.
TEST_F(HoldersTest, WhoListsManyKeysPushesOutRowsOfItsOwnModelsOnly) {
  constexpr std::size_t kKeys = 256, kModels = limits::kHoldersMax / kKeys;
  const Account mallory{"mallory", Role::kConsumer};
  Holders holders = read();
  ModelFile file = *hub_->stage(
      *core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "models/letters/letters.onnx"));
  const auto bobs = hub_->push({"bob", Role::kConsumer}, "bob/m", file, {});
  ASSERT_TRUE(bobs) << bobs.error().message;
  const Holders::Key open{key_.provider, bobs->content};
  for (const Holders::Key& key : {key_, open}) ASSERT_TRUE(holders.note(key));
  PushOptions options{.is_private = true, .allowed_providers = {}};
  for (std::size_t i = 1; i <= kKeys; ++i) options.allowed_providers.push_back(another(i).provider);
  for (std::size_t model = 0; model < kModels; ++model) {
    file.content = core::Digest{1, static_cast<std::uint8_t>(model)};  // nobody reads it
    const auto pushed = hub_->push(mallory, "mallory/m" + std::to_string(model), file, options);
    ASSERT_TRUE(pushed) << pushed.error().message;
    clock_.advance_ms(1);
    for (const crypto::Address& key : options.allowed_providers)
      ASSERT_TRUE(holders.claim({key, file.content}));
  }
  EXPECT_LT(holders.rows().size(), limits::kHoldersMax) << "some have gone";
  EXPECT_NE(holders.find(key_), nullptr);
  EXPECT_NE(holders.find(open), nullptr) << "a public one neither";
  EXPECT_EQ(holders.find({another(1).provider, core::Digest{1, 0}}), nullptr)
      << "of hers those go that were used longest ago";
}

}  // namespace
}  // namespace commensal::gateway
