// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/lab/bench/collocation/drawn.hpp>
#include <functional>

namespace commensal::lab::bench::collocation {
namespace {

constexpr int kRuns = 40;
constexpr int kHeldLeast = 36;

double normal(core::Rng& rng) {
  return std::sqrt(-2 * std::log(1 - rng.next_unit())) * std::cos(2 * M_PI * rng.next_unit());
}

/// What a host does by itself in a stretch: its rate, with noise, over the run.
using HostRate = std::function<double(core::Rng& rng, int slice, int stretch)>;

/// A host that keeps `kept` beside the guest.
Stretches made_up(std::uint64_t seed, double kept, const HostRate& rate) {
  core::CounterRng rng(seed);
  Stretches made(8);
  for (int slice = 0; slice < 8; ++slice) {
    for (int i = 0; i < 15; ++i) {
      Epoch epoch;
      epoch.is_let = rng.next_unit() < 0.5;
      epoch.work_s = 3.5;
      epoch.work = epoch.work_s * rate(rng, slice, i) * (epoch.is_let ? kept : 1);
      made[static_cast<std::size_t>(slice)].push_back(epoch);
    }
  }
  return made;
}

struct Held {
  int runs = 0;      // whose interval has the truth
  double width = 0;  // of the intervals, on average
};

Held held_of(double kept, const HostRate& rate) {
  Held held;
  for (int run = 0; run < kRuns; ++run) {
    core::CounterRng again(1000, static_cast<std::uint64_t>(run));
    const auto found = kept_drawn(made_up(static_cast<std::uint64_t>(run), kept, rate), again);
    if (!found) continue;
    EXPECT_LT(found->low, found->mean);
    EXPECT_GT(found->high, found->mean);
    held.runs += found->low <= kept && kept <= found->high;
    held.width += (found->high - found->low) / kRuns;
  }
  return held;
}

TEST(KeptDrawn, HoldsTheTruthBesideNoise) {
  for (const double kept : {1.0, 0.99, 0.8}) {
    const Held held =
        held_of(kept, [](core::Rng& rng, int, int) { return 1000 * (1 + 0.03 * normal(rng)); });
    EXPECT_GE(held.runs, kHeldLeast) << kept;
    // 120 stretches, half of each kind: 3.92 x 3 % x sqrt(2 / 60) = 2.1 %, and a little more for
    // the neighbours' own noise.
    EXPECT_LT(held.width, 0.027) << kept;
  }
}

// What lay in the figures of slices that were compared with each other.
TEST(KeptDrawn, HoldsTheTruthBesideDrift) {
  const Held slow = held_of(0.99, [](core::Rng& rng, int slice, int i) {
    const double at = slice * 15 + i;
    return 1000 * (1 + 0.2 * std::sin(at / 20) + 0.01 * normal(rng));
  });
  EXPECT_GE(slow.runs, kHeldLeast);
  EXPECT_LT(slow.width, 0.015);
  // Other programs come and go.
  const Held steps = held_of(0.97, [](core::Rng& rng, int slice, int i) {
    return 1000 * ((slice * 15 + i) / 10 % 2 == 0 ? 1.0 : 0.7) * (1 + 0.01 * normal(rng));
  });
  EXPECT_GE(steps.runs, kHeldLeast);
}

// Now and then somebody takes the machine for a stretch.
TEST(KeptDrawn, HoldsTheTruthBesideHeavyTails) {
  const Held held = held_of(0.98, [](core::Rng& rng, int, int) {
    return 1000 * (rng.next_unit() < 0.05 ? 0.5 : 1 + 0.02 * normal(rng));
  });
  EXPECT_GE(held.runs, kHeldLeast);
}

TEST(KeptDrawn, SaysNothingOfTooLittle) {
  core::CounterRng rng(1);
  EXPECT_FALSE(kept_drawn({}, rng));
  Stretches few = made_up(1, 1, [](auto&&...) { return 1000.0; });
  for (auto& slice : few) {
    for (Epoch& epoch : slice) epoch.is_let = true;
  }
  EXPECT_FALSE(kept_drawn(few, rng));
  // A host that stands still all the time has no rate to lose.
  EXPECT_FALSE(kept_drawn(made_up(1, 1, [](auto&&...) { return 0.0; }), rng));
}

TEST(KeptDrawn, IsOfItsDice) {
  const auto noisy = [](core::Rng& noise, int, int) { return 1000 + normal(noise); };
  const Stretches made = made_up(3, 0.99, noisy);
  core::CounterRng one(5), same(5);
  EXPECT_EQ(kept_drawn(made, one)->low, kept_drawn(made, same)->low);
}

/// Some hundred requests in each stretch, in bursts: a stretch is slow as a whole, or not.
Stretches made_up_server(std::uint64_t seed, double ratio, bool tells) {
  Stretches made = made_up(seed, 1, [](auto&&...) { return 1.0; });
  core::CounterRng rng(seed, 1);
  for (auto& slice : made) {
    for (Epoch& epoch : slice) {
      const double burst = std::exp(0.3 * normal(rng));
      for (int i = 0; i < 150; ++i) {
        const double ms = 3 - 2 * std::log(1 - rng.next_unit()) * burst;
        if (tells) epoch.unhindered_ms.push_back(ms);
        const double seen = ms * (1 + 0.1 * rng.next_unit());
        epoch.latencies_ms.push_back(epoch.is_let ? seen * ratio : seen);
      }
    }
  }
  return made;
}

Held p99_held_of(double ratio, bool tells) {
  Held held;
  for (int run = 0; run < kRuns; ++run) {
    const auto seed = static_cast<std::uint64_t>(run);
    core::CounterRng again(1000, seed);
    const auto found = p99_drawn(made_up_server(seed, ratio, tells), again);
    if (!found) continue;
    held.runs += found->low <= ratio && ratio <= found->high;
    held.width += (found->high - found->low) / ratio / kRuns;
  }
  return held;
}

TEST(P99Drawn, HoldsTheTruth) {
  for (const double ratio : {1.0, 1.5}) {
    const Held bare = p99_held_of(ratio, false), told = p99_held_of(ratio, true);
    EXPECT_GE(bare.runs, kHeldLeast) << ratio;
    EXPECT_GE(told.runs, kHeldLeast) << ratio;
    EXPECT_LT(bare.width, 0.4) << ratio;
    EXPECT_LT(told.width, bare.width / 3) << ratio;  // which bursts there were is known
  }
}

TEST(P99Drawn, SaysNothingOfAHostWithoutLatencies) {
  core::CounterRng rng(1);
  EXPECT_FALSE(p99_drawn(made_up(1, 1, [](auto&&...) { return 1.0; }), rng));
}

}  // namespace
}  // namespace commensal::lab::bench::collocation
