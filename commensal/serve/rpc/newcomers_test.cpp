// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <string>

namespace commensal::rpc {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(Newcomers, OfOneNetworkAreFewWhileOthersComeAndGo) {
  Newcomers newcomers;
  int flood = 0;
  for (std::int64_t ms = 0; ms < 10'000; ++ms) {
    for (int i = 0; i < 3; ++i) flood += newcomers.admit("flood", ms * 1'000'000) ? 1 : 0;
    if (ms % 100 == 0) {
      EXPECT_TRUE(newcomers.admit("honest", ms * 1'000'000)) << ms;
    }
  }
  EXPECT_NEAR(flood, limits::kNewcomersAtOnce + 10 * limits::kNewcomersPerSecond, 2);
}

TEST(Newcomers, OfManyNetworksAreBoundedTogetherAndForgotten) {
  Newcomers newcomers;
  int taken = 0;
  for (int i = 0; i < 100'000; ++i) {
    taken += newcomers.admit(std::to_string(i), i * kSecond / 10'000) ? 1 : 0;
  }
  EXPECT_NEAR(taken, 11 * (limits::kNewcomersAllPerSecond + limits::kNewcomersRarePerSecond), 4);
  EXPECT_TRUE(newcomers.admit("later", 20 * kSecond));
  EXPECT_TRUE(newcomers.admit("earlier", 19 * kSecond))
      << "a clock that steps back locks nobody out";
}

TEST(Newcomers, WhoComesSeldomIsLetInBesideACrowd) {
  Newcomers newcomers;
  for (std::int64_t ms = 0; ms < 20'000; ++ms) {
    for (int i = 0; i < 4; ++i) {
      newcomers.admit("crowd" + std::to_string((4 * ms + i) % 64), ms * 1'000'000);
    }
    if (ms % 500 == 0 && ms > 3'000) {
      EXPECT_TRUE(newcomers.admit("honest" + std::to_string(ms), ms * 1'000'000)) << ms;
    }
  }
}

// However many addresses a crowd has, and though none comes more often than one may.
TEST(Newcomers, WhoComesSeldomIsLetInBesideACrowdThatIsPatient) {
  constexpr std::int64_t kAddresses = 512;
  Newcomers newcomers;
  for (std::int64_t ms = 0; ms < 40'000; ++ms) {
    for (int i = 0; i < 8; ++i) {  // 15.6 a second each
      newcomers.admit("crowd" + std::to_string((8 * ms + i) % kAddresses), ms * 1'000'000);
    }
    if (ms % 11'000 == 10'999) {
      EXPECT_TRUE(newcomers.admit("honest", ms * 1'000'000)) << ms;
    }
  }
}

// The fault: who had asked for minutes was turned away with everybody, at one connection in ten
// seconds, while a crowd of strangers came.
TEST(Newcomers, WhoIsKnownIsLetInBesideACrowdHoweverOftenItComes) {
  Newcomers newcomers;
  newcomers.know("known", 0);
  int turned_away = 0;
  for (std::int64_t ms = 0; ms < 20'000; ++ms) {
    for (int i = 0; i < 4; ++i) {
      newcomers.admit("crowd" + std::to_string((4 * ms + i) % 512), ms * 1'000'000);
    }
    if (ms % 100 != 0) continue;
    turned_away += newcomers.admit("known", ms * 1'000'000) ? 0 : 1;
  }
  EXPECT_EQ(turned_away, 0);
}

TEST(Newcomers, WhoIsKnownMayNotComeMoreOftenThanOneMay) {
  Newcomers newcomers;
  newcomers.know("known", 0);
  int taken = 0;
  for (std::int64_t ms = 0; ms < 10'000; ++ms) taken += newcomers.admit("known", ms * 1'000'000);
  EXPECT_NEAR(taken, limits::kNewcomersAtOnce + 10 * limits::kNewcomersPerSecond, 2);
}

TEST(Newcomers, AreKnownForAWhileAndAFew) {
  Newcomers newcomers;
  const auto use_up = [](Newcomers& one, std::int64_t now_ns) {
    for (int i = 0; i < 1'000; ++i) one.admit("crowd" + std::to_string(i), now_ns);
  };
  const auto is_let_in = [&](const std::string& network, std::int64_t now_ns) {
    Newcomers then = newcomers;
    use_up(then, now_ns);
    return then.admit(network, now_ns);
  };
  newcomers.know("known", 0);
  EXPECT_TRUE(is_let_in("known", kSecond));
  EXPECT_FALSE(is_let_in("known", limits::kNewcomersKnownMs * 1'000'000));
  for (std::size_t i = 0; i < limits::kNewcomersKnownMax; ++i)
    newcomers.know("other" + std::to_string(i), kSecond);
  EXPECT_FALSE(is_let_in("known", 2 * kSecond));
  EXPECT_TRUE(is_let_in("other0", 2 * kSecond));
}

TEST(Newcomers, WhoIsPunishedIsKeptOutForEightSeconds) {
  Newcomers newcomers;
  EXPECT_TRUE(newcomers.admit("loud", 0));
  newcomers.punish("loud", 0);
  for (std::int64_t ms = 100; ms < 7'900; ms += 1'900) {
    Newcomers then = newcomers;
    EXPECT_FALSE(then.admit("loud", ms * 1'000'000)) << ms;
  }
  EXPECT_TRUE(newcomers.admit("other", kSecond));
  EXPECT_TRUE(newcomers.admit("loud", 8 * kSecond + kSecond / 10));
}

}  // namespace
}  // namespace commensal::rpc
