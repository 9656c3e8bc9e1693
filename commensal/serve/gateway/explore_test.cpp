// SPDX-License-Identifier: Apache-2.0
// Cards as the hub keeps them, and what is found by them.
#include <gtest/gtest.h>

#include <commensal/base/core/limits_cards.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/explore.hpp>
#include <commensal/serve/gateway/model_card.hpp>

namespace commensal::gateway {
namespace {

using core::ErrorCode;
using Names = std::vector<std::string>;

class Explore : public ::testing::Test {
 protected:
  void push(const Account& owner, const std::string& name, bool is_private = false) {
    clock_.advance_ms(1);
    ModelFile file;
    file.content[0] = static_cast<std::uint8_t>(++pushed_);
    const auto made =
        hub_.push(owner, name, file, {.is_private = is_private, .allowed_providers = {}});
    ASSERT_TRUE(made) << made.error().message;
  }
  core::Result<ModelVersion> set(const Account& who, const std::string& name,
                                 const std::string& source) {
    auto card = parse_card(source);
    if (!card) return tl::unexpected(card.error());
    return hub_.set_card(who, name, source, *card);
  }
  static std::string card(const std::string& task, const std::string& text = "Text.") {
    return "---\npipeline_tag: " + task + "\ntags: [small]\n---\n" + text + "\n";
  }
  /// All pages of it; each in as many steps as it takes.
  Names found(Explored wanted, const Account* asker = nullptr) {
    Names names;
    for (int page = 0; page < 1000; ++page) {
      Exploration exploration(wanted);
      for (;;) {
        ++steps_;
        int found_now = 0;
        const auto is_over = exploration.step(hub_, asker, [&](const std::string& model) {
          most_found_ = std::max(most_found_, ++found_now);
          return served_[model];
        });
        EXPECT_TRUE(is_over);
        if (!is_over || *is_over) break;
      }
      EXPECT_LE(exploration.found().size(), wanted.count);
      for (const auto& [place, one] : exploration.found()) names.push_back(one.model->name);
      if (!exploration.has_more()) return names;
      const std::string next = exploration.found().rbegin()->first.text();
      wanted.after = *Explored::Place::parse(next);
    }
    ADD_FAILURE() << "no end";
    return names;
  }
  Names words(const std::string& query, const Account* asker = nullptr) {
    Explored wanted;
    EXPECT_TRUE(wanted.look_for(query));
    return found(wanted, asker);
  }

  const Account alice_{"alice", Role::kConsumer};
  const Account bob_{"bob", Role::kConsumer};
  const Account root_{"root", Role::kOperator};
  core::ManualClock clock_;
  store::MemoryStore store_;
  ModelHub hub_{store_, ::testing::TempDir(), clock_};
  std::map<std::string, std::uint64_t> served_;
  int pushed_ = 0;
  int steps_ = 0;
  int most_found_ = 0;  // in one step
};

TEST_F(Explore, CardsAreTheirModelsAndDurable) {
  push(alice_, "alice/a");
  EXPECT_EQ(hub_.card(nullptr, "alice/a").error().code, ErrorCode::kNotFound);
  ASSERT_TRUE(set(alice_, "alice/a", card("x")));
  EXPECT_EQ(set(bob_, "alice/a", card("y")).error().code, ErrorCode::kPermissionDenied);
  EXPECT_EQ(hub_.remove_card(bob_, "alice/a").error().code, ErrorCode::kPermissionDenied);
  ASSERT_TRUE(set(root_, "alice/a", card("z")));
  push(alice_, "alice/a");  // of all versions
  ModelHub later(store_, ::testing::TempDir(), clock_);
  const auto shown = later.card(nullptr, "alice/a");
  ASSERT_TRUE(shown) << shown.error().message;
  EXPECT_EQ(shown->source, card("z"));
  EXPECT_EQ(shown->model.version, 2u);
  ASSERT_TRUE(hub_.remove_card(alice_, "alice/a"));
  EXPECT_EQ(hub_.remove_card(alice_, "alice/a").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(hub_.card(nullptr, "alice/a").error().code, ErrorCode::kNotFound);
}

TEST_F(Explore, ACardGoesWithItsModel) {
  push(alice_, "alice/a");
  ASSERT_TRUE(set(alice_, "alice/a", card("secret-task")));
  ModelHub other(store_, ::testing::TempDir(), clock_);  // has read no card yet
  ASSERT_TRUE(other.remove(alice_, "alice/a"));
  ModelHub later(store_, ::testing::TempDir(), clock_);
  const auto again = later.push(bob_, "bob/a", ModelFile(), {});
  ASSERT_TRUE(again);
  ASSERT_TRUE(later.push(alice_, "alice/a", ModelFile(), {}));
  EXPECT_EQ(later.card(&alice_, "alice/a").error().code, ErrorCode::kNotFound);
  for (const char* space : {"model_cards", "model_card_heads"}) {
    int rows = 0;
    ASSERT_TRUE(store_.scan(space, {}, [&](core::ByteView, core::ByteView) { return ++rows > 0; }));
    EXPECT_EQ(rows, 0) << space;
  }
}

TEST_F(Explore, StrangersFindNothingOfPrivateModels) {
  push(alice_, "alice/public");
  push(alice_, "alice/secret", true);
  ASSERT_TRUE(set(alice_, "alice/secret", card("hidden", "Of great worth.")));
  for (const Account* stranger : {static_cast<const Account*>(nullptr), &bob_}) {
    EXPECT_EQ(words("", stranger), Names{"alice/public"});
    EXPECT_EQ(words("worth", stranger), Names());
    EXPECT_EQ(words("hidden", stranger), Names());
    EXPECT_EQ(hub_.card(stranger, "alice/secret").error().message, "unknown model 'alice/secret'");
  }
  EXPECT_EQ(words("worth", &alice_), Names{"alice/secret"});
  EXPECT_EQ(words("worth", &root_), Names{"alice/secret"});
  ASSERT_TRUE(hub_.grant(alice_, "alice/secret", "bob", false));
  EXPECT_EQ(words("worth", &bob_), Names{"alice/secret"});
  EXPECT_TRUE(hub_.card(&bob_, "alice/secret"));
  EXPECT_FALSE(set(bob_, "alice/secret", card("x")));
}

TEST_F(Explore, FindsByWordsTaskAndModality) {
  push(alice_, "alice/birds");
  push(alice_, "alice/words");
  push(bob_, "bob/bare");
  ASSERT_TRUE(set(alice_, "alice/birds",
                  "---\npipeline_tag: image-classification\nlicense: MIT\ncommensal: {modality: "
                  "image}\n---\nTells CROWS apart.\n"));
  ASSERT_TRUE(set(alice_, "alice/words", card("text-generation")));
  EXPECT_EQ(words("crows"), Names{"alice/birds"});
  EXPECT_EQ(words("  CROWS   mit "), Names{"alice/birds"});
  EXPECT_EQ(words("crows small"), Names());
  EXPECT_EQ(words("small"), Names{"alice/words"});
  EXPECT_EQ(words("bob/"), Names{"bob/bare"});
  EXPECT_EQ(words("").size(), 3u);
  Explored wanted;
  wanted.task = "text-generation";
  EXPECT_EQ(found(wanted), Names{"alice/words"});
  wanted.task = "";
  wanted.modality = "image";
  EXPECT_EQ(found(wanted), Names{"alice/birds"});
  EXPECT_FALSE(Explored().look_for(std::string(65, 'x')));
  EXPECT_FALSE(Explored().look_for("1 2 3 4 5 6 7 8 9"));
}

TEST_F(Explore, SortsAndPages) {
  for (const char* name : {"alice/c", "alice/a", "alice/d.e", "alice/b"}) push(alice_, name);
  served_ = {{"alice/b", 5}, {"alice/a", 5}, {"alice/d.e", 9}};
  for (const std::size_t count : {1u, 2u, 3u, 4u, 100u}) {
    Explored wanted;
    wanted.count = count;
    EXPECT_EQ(found(wanted), (Names{"alice/a", "alice/b", "alice/c", "alice/d.e"}));
    wanted.sort = Explored::Sort::kNewest;
    EXPECT_EQ(found(wanted), (Names{"alice/b", "alice/d.e", "alice/a", "alice/c"}));
    wanted.sort = Explored::Sort::kUsed;
    EXPECT_EQ(found(wanted), (Names{"alice/d.e", "alice/a", "alice/b", "alice/c"}));
  }
  for (const char* bad : {"", "x", "12", ".a", "-1.a", "99999999999999999999.a"})
    EXPECT_FALSE(Explored::Place::parse(bad)) << bad;
}

TEST_F(Explore, TakesManyStepsForMuch) {
  constexpr int kModels = 700;
  constexpr std::int64_t kText = 200;
  const Account many{"alice", Role::kOperator};
  for (int i = 0; i < kModels; ++i) {
    const std::string name = fmt::format("alice/m{:03}", i);
    push(many, name);
    ASSERT_TRUE(set(many, name, card("x", std::string(kText, 'a') + "b.")));
  }
  Explored wanted;
  wanted.count = 2 * kModels;
  // At most so many models' comparisons, and the one that is looked at when they are made.
  constexpr std::int64_t kInOneStep = limits::kExploreWorkMax / (kText * 63 / 4) + 1;
  ASSERT_TRUE(wanted.look_for(std::string(63, 'a')));
  EXPECT_EQ(found(wanted).size(), static_cast<std::size_t>(kModels));
  EXPECT_LE(most_found_, kInOneStep);
  EXPECT_GE(steps_, kModels / kInOneStep);
  EXPECT_GT(steps_, 1);
  steps_ = 0;
  wanted.words.clear();
  ASSERT_TRUE(wanted.look_for(std::string(63, 'a') + "c"));
  EXPECT_EQ(found(wanted), Names());
  EXPECT_GT(steps_, 1) << "whether or not anything is found";
}

// The fault: what one may not see took any time in one turn.
TEST_F(Explore, TakesManyStepsPastWhatOneMayNotSee) {
  constexpr int kModels = 10'000;
  const Account many{"alice", Role::kOperator};
  for (int i = 0; i < kModels; ++i) push(many, fmt::format("alice/m{:05}", i), true);
  push(bob_, "bob/last");
  for (const Account* stranger : {static_cast<const Account*>(nullptr), &bob_}) {
    steps_ = 0;
    EXPECT_EQ(words("", stranger), Names{"bob/last"});
    EXPECT_GT(steps_, 2);
  }
}

}  // namespace
}  // namespace commensal::gateway
