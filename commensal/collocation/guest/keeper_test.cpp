// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/collocation/guest/keeper.hpp>
#include <functional>

namespace commensal::guest {
namespace {

/// A counter of work that grows by what `rate` says of the guest's level.
class FakeProbe final : public probe::Probe {
 public:
  FakeProbe(const core::Clock& clock, const DutyPacer& pacer) : clock_(clock), pacer_(pacer) {}

  const probe::Traits& traits() const override { return traits_; }
  probe::Sample sample() override {
    if (is_gone) return {clock_.monotonic_ns(), 0, probe::State::kInvalid, "nobody answers"};
    const std::int64_t now_ns = clock_.monotonic_ns();
    const double s = static_cast<double>(now_ns - last_ns_) * 1e-9;
    last_ns_ = now_ns;
    const double noise = 1 + 0.01 * (noise_.next_unit() - 0.5);
    work_ += 1000 * s * noise * (1 - cost * pacer_.level());
    return {now_ns, work_, probe::State::kFresh, {}, {}, is_hot && pacer_.level() > 0};
  }

  double cost = 0;
  bool is_gone = false;
  bool is_hot = false;  // with the guest

 private:
  const core::Clock& clock_;
  const DutyPacer& pacer_;
  core::CounterRng noise_{3};
  probe::Traits traits_{.unit = "passes", .quantity = probe::Quantity::kWork, .resolution_s = 0.1};
  double work_ = 0;
  std::int64_t last_ns_ = 0;
};

struct KeptGuest {
  explicit KeptGuest(std::uint64_t seed) : dice_(seed) {}

  /// The guest's mean level over so many seconds.
  double run(double seconds) {
    double sum = 0;
    const int steps = static_cast<int>(seconds / 0.02);
    for (int i = 0; i < steps; ++i) {
      clock_.advance_ms(20);
      if (keeper_.look_in_s() <= 0) {
        ++looks_;
        keeper_.look();
      }
      if (keeper_.act_in_s() <= 0) {
        ++acts_;
        keeper_.act();
      }
      sum += pacer_.level();
    }
    return sum / steps;
  }

  int looks_ = 0;
  int acts_ = 0;
  core::ManualClock clock_;
  core::CounterRng dice_;
  DutyPacer pacer_;
  FakeProbe probe_{clock_, pacer_};
  Keeper keeper_{{clock_, dice_, probe_, pacer_}, {}};
};

class KeeperTest : public testing::Test, protected KeptGuest {
 protected:
  KeeperTest() : KeptGuest(1) {}
};

TEST_F(KeeperTest, HoldsACostlyGuestBack) {
  probe_.cost = 0.05;
  const double level = run(3600);
  EXPECT_LT(level, 0.1);  // the hour's half per cent
  EXPECT_GT(level, 0.08);
  EXPECT_TRUE(keeper_.view().governor.is_shown);
  EXPECT_EQ(keeper_.view().unit, "passes");
}

TEST(Keepers, LetAFreeGuestRun) {
  constexpr std::uint64_t kSeeds = 10;
  double level = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    KeptGuest one(seed);
    one.run(600);
    level += one.run(1200) / kSeeds;
  }
  EXPECT_GT(level, 0.85);
}

// Four times a second while little is known, else once, and where epochs meet.
TEST_F(KeeperTest, LooksNoMoreOftenThanItMust) {
  run(60);
  EXPECT_GT(looks_, 60);
  EXPECT_LE(looks_, 60 * 5);
  run(1800);
  looks_ = acts_ = 0;
  run(600);
  EXPECT_LE(looks_, 600 * 1.2);
  EXPECT_LE(acts_, 600 * 0.1);
  probe_.is_gone = true;
  run(10);
  looks_ = acts_ = 0;
  run(600);
  EXPECT_LE(looks_, 602);
  EXPECT_EQ(acts_, 0);
}

TEST_F(KeeperTest, HoldsTheGuestForItsCallersReason) {
  run(600);
  keeper_.hold("guests earn less");
  run(40);
  EXPECT_EQ(run(300), 0);
  EXPECT_EQ(keeper_.view().governor.why, "guests earn less");
  keeper_.hold("");
  EXPECT_GT(run(600), 0.5);
}

TEST_F(KeeperTest, StopsTheGuestWithTheSignal) {
  run(300);
  probe_.is_gone = true;
  run(10);
  EXPECT_EQ(run(60), 0);
  EXPECT_EQ(keeper_.view().signal, "nobody answers");
  EXPECT_EQ(keeper_.view().governor.phase, governor::Phase::kWaiting);
}

TEST_F(KeeperTest, StopsAGuestThatHeatsTheHost) {
  run(300);
  probe_.is_hot = true;
  run(60);
  EXPECT_EQ(keeper_.view().governor.why, "power or heat limits the host");
  EXPECT_LT(run(1800), 0.01);
}

// What a provider says of it: at once while there is nothing to go by, nothing of short stretches.
TEST_F(KeeperTest, SaysThatTheGuestStandsStillUnlessItIsForAMoment) {
  Standstill standstill;
  const auto why = [&] {
    return standstill.why(pacer_.level(), keeper_.view(),
                          static_cast<double>(clock_.monotonic_ns()) * 1e-9);
  };
  for (int i = 0; i < 20; ++i) {  // one reason until it runs for the first time
    EXPECT_EQ(why(), "the host is looked at alone first") << i;
    run(0.1);
  }
  double off_s = 0;
  double longest_quiet_s = 0;
  double said_on_s = 0;
  for (int i = 0; i < 6000; ++i) {
    run(0.1);
    off_s = pacer_.level() > 0 ? 0 : off_s + 0.1;
    if (why().empty()) longest_quiet_s = std::max(longest_quiet_s, off_s);
    if (!why().empty() && pacer_.level() > 0) said_on_s += 0.1;
  }
  EXPECT_EQ(said_on_s, 0);
  EXPECT_GT(longest_quiet_s, 0.4);  // there are short ones
  EXPECT_LT(longest_quiet_s, 2.2);
  probe_.is_gone = true;
  run(8);
  EXPECT_EQ(why(), "no signal: nobody answers");
  EXPECT_EQ(Standstill().why(0, std::nullopt, 5), "");  // a guest that knows its level only
  EXPECT_EQ(standstill.why(0, std::nullopt, 1e9), "the host comes first");
  const View others{
      .governor = {.phase = governor::Phase::kOn, .why = {}, .level = 1}, .unit = {}, .signal = {}};
  EXPECT_EQ(standstill.why(0, others, 2e9), "") << "others run";
}

TEST(Standstills, SayWhyThereIsNoSignal) {
  Standstill standstill;
  View now;
  now.governor.why = "no signal yet";
  EXPECT_EQ(standstill.why(0, now, 1), "the host is looked at alone first");
  EXPECT_EQ(standstill.why(0, now, 7), "no signal yet");
  now.signal = "process 4711 has ended";
  EXPECT_EQ(standstill.why(0, now, 8), "no signal: process 4711 has ended");
  now.signal = "the figure has not moved for 61 s";
  EXPECT_EQ(standstill.why(0, now, 9), "no signal: the figure has not moved for 61 s");
  now.signal = "the figure has not moved for 62 s";
  EXPECT_EQ(standstill.why(0, now, 10), "no signal: the figure has not moved for 61 s");
}

}  // namespace
}  // namespace commensal::guest
