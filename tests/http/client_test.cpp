// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

using client::Client;
using client::Url;
using core::ErrorCode;

TEST(ClientUrl, IsTakenApart) {
  EXPECT_EQ(Url::parse("http://gateway")->port, "80");
  EXPECT_EQ(Url::parse("http://gateway:8080/")->host, "gateway");
  EXPECT_EQ(Url::parse("http://[::1]:8080")->host, "::1");
  EXPECT_EQ(Url::parse("http://[::1]")->port, "80");
  EXPECT_EQ(Url::parse("gateway:8080")->port, "8080");
  EXPECT_EQ(Url::parse("[::1]:8080")->host, "::1");
  EXPECT_EQ(Url::parse("https://gateway")->port, "443");
  EXPECT_EQ(Url::parse("https://[::1]:8443")->port, "8443");
  for (const char* text : {"https://gateway", "https://127.0.0.1:1", "gateway:8080", "10.0.0.1:80"})
    EXPECT_TRUE(Url::parse(text)->is_secure) << text;
  for (const char* text : {"http://gateway", "127.0.0.1:8080", "[::1]:8080", "localhost:80"})
    EXPECT_FALSE(Url::parse(text)->is_secure) << text;
  for (const char* text : {"", "gateway", "ftp://x", "ftp://x:1", "gateway/path:1", "http://",
                           "http://:80", "http://x:", "http://[::1", "http://x:port",
                           "http://x:123456", "http://x/path", "http://u@x", "http://x\r\nA: b"})
    EXPECT_EQ(Url::parse(text).error().code, ErrorCode::kInvalidArgument) << text;
}

TEST(HttpClient, SaysThatNobodyIsThere) {
  auto client = Client::create({.url = "http://127.0.0.1:1", .token = "", .wait_ms = 2'000});
  ASSERT_TRUE(client);
  const auto live = client->live();
  ASSERT_FALSE(live);
  EXPECT_EQ(live.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(live.error().message.find("127.0.0.1:1"), std::string::npos);
  EXPECT_FALSE(Client::create({.url = "http://x", .token = "a\r\nb", .wait_ms = 1}));
}

TEST(HttpClient, GivesUpOnAGatewayThatKeepsSilent) {
  World world("silent");
  auto client = Client::create({.url = world.url(), .token = world.alice, .wait_ms = 100});
  ASSERT_TRUE(client->live());
  world.hold_loop();
  EXPECT_EQ(client->who_am_i().error().code, ErrorCode::kDeadlineExceeded);
  world.free_loop();
  auto patient = world.client(world.alice);
  EXPECT_TRUE(patient.who_am_i());
}

TEST(HttpClient, ConnectsAgainWhenTheGatewayHasHungUp) {
  World world("again");
  auto client = world.client(world.alice);
  ASSERT_TRUE(client.live());
  // A refusal of a body that was not read ends the connection.
  const core::Bytes bytes(1 << 20);
  EXPECT_EQ(client
                .push({.model = "bob/x",
                       .bytes = bytes,
                       .is_private = false,
                       .allowed_providers = {},
                       .progress = {}})
                .error()
                .code,
            ErrorCode::kPermissionDenied);
  EXPECT_TRUE(client.live());
}

}  // namespace
}  // namespace commensal::tests
