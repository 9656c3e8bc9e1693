// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/guest/share.hpp>

namespace commensal::guest {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

std::vector<double> of(double level, double capacity, const std::vector<Wish>& guests) {
  return divide(level, capacity, guests);
}

TEST(Share, GoesByWeight) {
  EXPECT_THAT(of(0.4, 2, {{3, 2, true}, {1, 2, true}}), ElementsAre(DoubleEq(0.3), DoubleEq(0.1)));
}

TEST(Share, OfAGuestAloneIsTheGovernorsLevel) {
  EXPECT_THAT(of(0.37, 2, {{5, 2, true}}), ElementsAre(DoubleEq(0.37)));
  EXPECT_THAT(of(0.37, 2, {{5, 2, false}}), ElementsAre(DoubleEq(0.37)));
}

TEST(Share, OfWhoHasNothingToDoIsTheOthers) {
  EXPECT_THAT(of(0.4, 2, {{3, 2, false}, {1, 2, true}}), ElementsAre(0, DoubleEq(0.4)));
}

TEST(Share, BeyondWhatAGuestCanUseIsTheOthers) {
  EXPECT_THAT(of(1, 2, {{9, 1, true}, {1, 2, true}}), ElementsAre(1, DoubleEq(0.5)));
}

struct Draw {
  double level;
  double capacity;
  std::vector<Wish> guests;
};

Draw draw(core::Rng& rng) {
  Draw made{rng.next_unit(), 1 + 63 * rng.next_unit(), {}};
  const std::size_t count = 1 + rng.next_u64() % 12;
  for (std::size_t i = 0; i < count; ++i) {
    made.guests.push_back({1 + 9999 * rng.next_unit() * rng.next_unit(),
                           static_cast<double>(1 + rng.next_u64() % 16), rng.next_unit() < 0.7});
  }
  return made;
}

double work(const std::vector<Wish>& guests, const std::vector<double>& levels) {
  double sum = 0;
  for (std::size_t i = 0; i < guests.size(); ++i) sum += levels[i] * guests[i].processors;
  return sum;
}

// What must hold whatever is drawn: never more than the budget; all of it unless nobody can use
// more; and no guest below full speed has less for its weight than another.
TEST(Share, SpendsTheBudgetAndNoMore) {
  core::CounterRng rng(11);
  for (int round = 0; round < 20'000; ++round) {
    const Draw one = draw(rng);
    const std::vector<double> levels = divide(one.level, one.capacity, one.guests);
    const double budget = one.level * one.capacity;
    const bool is_quiet = std::ranges::none_of(one.guests, &Wish::wants);
    double usable = 0;
    for (const Wish& guest : one.guests) usable += guest.wants || is_quiet ? guest.processors : 0;
    ASSERT_NEAR(work(one.guests, levels), std::min(budget, usable), 1e-9 * (1 + budget));
    for (std::size_t i = 0; i < levels.size(); ++i) {
      ASSERT_GE(levels[i], 0);
      ASSERT_LE(levels[i], 1);
      const Wish& guest = one.guests[i];
      if (!guest.wants && !is_quiet) {
        ASSERT_EQ(levels[i], 0);
        continue;
      }
      if (levels[i] >= 1) continue;
      const double each = levels[i] * guest.processors / guest.weight;
      for (std::size_t k = 0; k < levels.size(); ++k) {
        const Wish& other = one.guests[k];
        ASSERT_LE(levels[k] * other.processors / other.weight, each * (1 + 1e-9) + 1e-12);
      }
    }
  }
}

// Another guest never brings one more, and a higher level never brings anybody less.
TEST(Share, IsMonotone) {
  core::CounterRng rng(12);
  for (int round = 0; round < 5'000; ++round) {
    Draw one = draw(rng);
    for (Wish& guest : one.guests) guest.wants = true;
    const std::vector<double> levels = divide(one.level, one.capacity, one.guests);
    const std::vector<double> more = divide(one.level * 0.9, one.capacity, one.guests);
    for (std::size_t i = 0; i < levels.size(); ++i) ASSERT_LE(more[i], levels[i] + 1e-12);
    one.guests.push_back({50, 2, true});
    const std::vector<double> joined = divide(one.level, one.capacity, one.guests);
    for (std::size_t i = 0; i < levels.size(); ++i) ASSERT_LE(joined[i], levels[i] + 1e-12);
  }
}

TEST(Share, OfNothingIsNothing) {
  EXPECT_TRUE(of(1, 2, {}).empty());
  EXPECT_THAT(of(0, 2, {{1, 1, true}}), ElementsAre(0));
  EXPECT_THAT(of(-1, 2, {{1, 1, true}}), ElementsAre(0));
}

}  // namespace
}  // namespace commensal::guest
