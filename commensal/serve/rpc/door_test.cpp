// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <vector>

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

TEST(Door, RefusesOnceItHasStopped) {
  auto door = *Door::open("localhost:0");
  const auto port = static_cast<std::uint16_t>(door->port());
  std::vector<core::Descriptor> taken;
  door->begin([&](int, int accepted) { taken.emplace_back(accepted); });
  const auto dial = [port] {
    const core::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at);
  };
  EXPECT_EQ(dial(), 0);
  door->stop();
  EXPECT_EQ(dial(), -1) << "it waits in the kernel for nobody";
}

}  // namespace
}  // namespace commensal::rpc
