// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <commensal/base/core/network.hpp>

namespace commensal::core {
namespace {

std::string of(const char* host) {
  sockaddr_storage at{};
  EXPECT_TRUE(read_address(host, "80", at)) << host;
  return network_of(reinterpret_cast<const sockaddr*>(&at));
}

TEST(Network, IsAnAddressOrASite) {
  EXPECT_EQ(of("10.0.0.1"), "0a000001");
  EXPECT_EQ(of("::ffff:10.0.0.1"), "0a000001");
  EXPECT_EQ(of("2001:db8:1:2:3::4"), "20010db80001");
  EXPECT_EQ(of("2001:db8:1:ffff::1"), "20010db80001");
  EXPECT_EQ(of("2001:db8:2::1"), "20010db80002");
  EXPECT_EQ(of("::1"), "000000000000");
  const sockaddr other{.sa_family = AF_UNIX, .sa_data = {}};
  EXPECT_EQ(network_of(&other), "");
}

TEST(Network, TellsConnectionsApart) {
  const auto of = [](const char* host, const char* port) {
    sockaddr_storage at{};
    return read_address(host, port, at) ? connection_of(reinterpret_cast<const sockaddr*>(&at))
                                        : "none";
  };
  EXPECT_EQ(of("10.0.0.1", "80"), "0a000001:80");
  EXPECT_EQ(of("::ffff:10.0.0.1", "80"), "0a000001:80");
  EXPECT_EQ(of("::1", "65535"), "00000000000000000000000000000001:65535");
  EXPECT_EQ(of("localhost", "80"), "none");
  EXPECT_EQ(of("10.0.0.1", "http"), "none");
}

TEST(Endpoint, IsHostAndPort) {
  const auto at = [](const char* text) {
    const auto found = Endpoint::parse(text);
    return found ? found->text() : "none";
  };
  EXPECT_EQ(at("127.0.0.1:8080"), "127.0.0.1:8080");
  EXPECT_EQ(at("localhost:0"), "localhost:0");
  EXPECT_EQ(at("[::1]:80"), "[::1]:80");
  EXPECT_EQ(at("::1:80"), "[::1]:80");
  for (const char* bad : {"", "80", ":80", "host:", "host:65536", "host:-1", "host:+1", "host:1x",
                          "http://host:1", "a host:1", "[::1:80"}) {
    EXPECT_EQ(at(bad), "none") << bad;
  }
}

TEST(ListenOn, TakesTheHostsAddressAndAFreePort) {
  // Whatever else a hosts file says of it: who dials 127.0.0.1 finds who listens on localhost.
  const auto made = listen_on({"localhost", 0});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_GT(made->port, 0);
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ASSERT_EQ(::getsockname(made->socket.get(), reinterpret_cast<sockaddr*>(&at), &size), 0);
  EXPECT_EQ(at.sin_family, AF_INET);
  EXPECT_EQ(ntohl(at.sin_addr.s_addr), INADDR_LOOPBACK);
  EXPECT_EQ(listen_on({"127.0.0.1", made->port}).error().message, "the port is in use");
}

}  // namespace
}  // namespace commensal::core
