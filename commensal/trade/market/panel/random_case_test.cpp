// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/trade/market/panel/testing/case_fixture.hpp>

namespace commensal::panel {
namespace {

using namespace testing;

/// Throws deeds at a case: most of them make sense at some time, few at this one.
class Crowd {
 public:
  explicit Crowd(std::uint64_t seed)
      : court(seed, seed % 14, seed % 3 != 0 || seed % 14 == 0), rng(seed, 1) {
    court.terms.appeals_max = seed % 4;
    court.terms.fee = Amount(below(3) * 5);
    court.terms.bond = Amount(below(2) * 300);
    court.staked = court.terms.bond;
    outsider = court.admit();
    court.open();
  }
  /// Whether it was accepted.
  bool step() {
    court.now_ms += below(4) == 0 ? below(1200) : below(50);
    court.round += below(2);
    if (below(12) == 0 && !court.journal.empty()) {  // again what was accepted once
      Event event = court.journal[below(court.journal.size())];
      if (below(2) == 0) event.number = court.at().events();
      return submitted(event);
    }
    return submitted(random_deed());
  }
  template <class What>
  bool submitted(const What& what) {
    const Case before = court.at();
    const bool done = court.submit(what).has_value();
    EXPECT_TRUE(done || court.at() == before) << "a refusal has changed the case";
    if (before.outcome()) {
      EXPECT_FALSE(done);
      EXPECT_EQ(court.at().outcome(), before.outcome());
    }
    return done;
  }
  std::uint64_t below(std::uint64_t bound) { return rng.next_u64() % bound; }

  Court court;
  core::CounterRng rng;
  Address outsider;

 private:
  Address somebody() {
    const auto& instances = court.at().instances();
    if (below(3) != 0 && !instances.empty() && !instances.back().ballots.empty())
      return instances.back().ballots[below(instances.back().ballots.size())].member;
    const Address* const turn = court.at().turn();
    if (turn != nullptr && below(2) == 0) return *turn;
    const Address all[] = {court.client, court.holder, court.arbiter, outsider};
    return all[below(4)];
  }
  /// What somebody might do in this stage.
  Deed fitting_deed(const Address& actor, Ruling ruling) {
    if (below(40) == 0) return court.move(MoveKind::kAccept, actor);
    switch (court.at().stage()) {
      case Stage::kClient:
        return court.move(MoveKind::kObject, actor);
      case Stage::kDraw:
        return court.draw();
      case Stage::kCommit:
        return court.commit(actor, ruling);
      case Stage::kReveal:
        return court.reveal(actor, ruling);
      case Stage::kAppeal:
        return court.move(MoveKind::kAppeal, actor);
      default:
        return court.move(MoveKind::kDecide, actor, ruling);
    }
  }
  Deed random_deed() {
    const Address actor = somebody();
    const auto ruling = static_cast<Ruling>(actor.bytes[0] & 1);
    if (below(3) != 0) return fitting_deed(actor, ruling);
    const std::uint64_t kind = below(60);
    if (kind == 0) return court.settlement(below(2000), below(50));
    if (kind < 8) return Timeout();
    if (kind < 14) return Draw{court.round, rng.next_digest()};
    if (kind < 28) return court.commit(actor, ruling);
    if (kind < 42) return court.reveal(actor, ruling);
    return court.move(static_cast<MoveKind>(below(6)), actor);
  }
};

TEST(PanelOrders, AlwaysEndOnceConserveStakesAndReplay) {
  std::size_t endings[4] = {};
  std::size_t deepest = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    Crowd crowd(seed);
    Court& court = crowd.court;
    for (int i = 0; i < 300 && !court.at().outcome(); ++i) {
      crowd.step();
      EXPECT_EQ(court.at().staked(), court.staked);
    }
    // Left alone, it ends by its deadlines.
    for (int i = 0; i < 32 && !court.at().outcome(); ++i) court.time_out();
    ASSERT_TRUE(court.at().outcome());
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(crowd.step());
    EXPECT_EQ(court.at().staked(), court.staked);
    EXPECT_EQ(court.paid(), court.staked);
    ++endings[static_cast<std::size_t>(court.at().outcome()->ending)];
    deepest = std::max(deepest, court.at().instances().size());

    const Terms terms = *protocol::decode<Terms>(protocol::encode(court.terms));
    Case again = *Case::open(terms, 5000, 40);
    for (const Event& event : court.journal) {
      const auto read = protocol::decode<Event>(protocol::encode(event));
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_TRUE(again.apply(*read));
    }
    EXPECT_TRUE(again == court.at());
  }
  for (const std::size_t count : endings) EXPECT_GT(count, 0u);
  EXPECT_GE(deepest, 4u);
}

TEST(PanelDraw, ChoosesEverybodyEquallyOften) {
  std::vector<Address> pool;
  for (std::uint8_t i = 0; i < 10; ++i) pool.push_back({{i}});
  core::CounterRng rng(77);
  int chosen[10] = {};
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    std::vector<Address> drawn = draw_members({}, 1, rng.next_digest(), pool, 3);
    for (const Address& member : drawn) ++chosen[member.bytes[0]];
    std::ranges::sort(drawn);
    ASSERT_EQ(std::ranges::adjacent_find(drawn), drawn.end());
  }
  for (const int count : chosen) EXPECT_NEAR(count, kDraws * 0.3, 5 * std::sqrt(kDraws * 0.21));
}

// From an independent writing of the rule, with Python's hashlib.
TEST(PanelDraw, IsWhatTheRuleSays) {
  std::vector<Address> pool;
  for (std::uint8_t i = 0; i < 9; ++i) pool.push_back({{i}});
  Digest id;
  id.fill(0x11);
  Digest beacon;
  beacon.fill(0x22);
  std::vector<int> first;
  for (const Address& member : draw_members(id, 2, beacon, pool, 7))
    first.push_back(member.bytes[0]);
  EXPECT_EQ(first, (std::vector<int>{5, 3, 7, 4, 6, 2, 1}));
}

}  // namespace
}  // namespace commensal::panel
