// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <commensal/base/core/network.hpp>

namespace commensal::core {
namespace {

std::string of_v4(const char* text) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  EXPECT_EQ(::inet_pton(AF_INET, text, &at.sin_addr), 1);
  return network_of(reinterpret_cast<const sockaddr*>(&at));
}

std::string of_v6(const char* text) {
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  EXPECT_EQ(::inet_pton(AF_INET6, text, &at.sin6_addr), 1);
  return network_of(reinterpret_cast<const sockaddr*>(&at));
}

TEST(Network, IsAnAddressOrASite) {
  EXPECT_EQ(of_v4("10.0.0.1"), "0a000001");
  EXPECT_EQ(of_v6("::ffff:10.0.0.1"), "0a000001");
  EXPECT_EQ(of_v6("2001:db8:1:2:3::4"), "20010db80001");
  EXPECT_EQ(of_v6("2001:db8:1:ffff::1"), "20010db80001");
  EXPECT_EQ(of_v6("2001:db8:2::1"), "20010db80002");
  EXPECT_EQ(of_v6("::1"), "000000000000");
  const sockaddr other{.sa_family = AF_UNIX, .sa_data = {}};
  EXPECT_EQ(network_of(&other), "");
}

}  // namespace
}  // namespace commensal::core
