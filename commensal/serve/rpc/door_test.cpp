// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/door.hpp>

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
  EXPECT_NEAR(taken, 11 * limits::kNewcomersAllPerSecond, 2);
  EXPECT_TRUE(newcomers.admit("later", 20 * kSecond));
  EXPECT_TRUE(newcomers.admit("earlier", 19 * kSecond))
      << "a clock that steps back locks nobody out";
}

}  // namespace
}  // namespace commensal::rpc
