// SPDX-License-Identifier: Apache-2.0
// Connections that relays hand on, over HTTP with and without TLS.
#include <gtest/gtest.h>

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <tests/http/raw_client.hpp>
#include <tests/http/world.hpp>
#include <thread>

namespace commensal::tests {
namespace {

constexpr const char* kSecret = "a word between gateways";
constexpr std::string_view kAsks =
    "GET /v1/account HTTP/1.1\r\nHost: x\r\n\r\n";  // without a token

std::string proxied(const char* from, const std::string& secret = kSecret) {
  sockaddr_storage a{}, b{};
  EXPECT_TRUE(core::read_address(from, "1", a) && core::read_address("9.9.9.9", "2", b));
  const core::Bytes made = crypto::proxy_header(reinterpret_cast<const sockaddr*>(&a),
                                                reinterpret_cast<const sockaddr*>(&b), secret,
                                                core::SystemClock().wall_ms());
  return std::string(core::as_text(made));
}

TEST(HttpRelayed, CountsAsItsClientAndNotAsItsRelay) {
  World world("relayed", nullptr, {}, false, kSecret);
  // Somebody uses up what its network may, and is answered once on a connection from then on.
  int answered = 0;
  bool was_ended = false;
  for (int i = 0; i < 3 && !was_ended; ++i) {
    RawClient loud(world.port());
    loud.send(proxied("1.2.3.4"));
    for (; answered < 4 * limits::kStrangerRequestsAtOnce && !was_ended; ++answered) {
      loud.send(kAsks);
      const RawResponse refused = loud.receive();
      if (refused.status == 0) break;
      EXPECT_EQ(refused.status, 401);
      was_ended =
          refused.headers.contains("connection") && refused.headers.at("connection") == "close";
    }
  }
  EXPECT_TRUE(was_ended);
  EXPECT_GE(answered, limits::kStrangerRequestsAtOnce - 1);
  for (const std::string& front :
       {proxied("5.6.7.8"), proxied("7.7.7.7") + proxied("5.6.7.9"), std::string()}) {
    RawClient other(world.port());
    other.send(front);
    other.send(kAsks);
    const RawResponse refused = other.receive();
    EXPECT_EQ(refused.status, 401);
    EXPECT_FALSE(refused.headers.contains("connection") &&
                 refused.headers.at("connection") == "close");
  }
  RawClient same(world.port());
  same.send(proxied("7.7.7.7") + proxied("1.2.3.4"));
  bool is_closing = false;
  for (int i = 0; i < 16 && !is_closing; ++i) {  // on a slow machine it may have earned some since
    same.send(kAsks);
    is_closing = same.receive().headers.at("connection") == "close";
  }
  EXPECT_TRUE(is_closing);
}

TEST(HttpRelayed, IsBelievedWithTheSecretOnly) {
  World world("unbelieved", nullptr, {}, false, kSecret);
  RawClient liar(world.port());
  liar.send(proxied("1.2.3.4", "another word"));
  EXPECT_EQ(liar.receive().status, 0) << "it is ended";
  RawClient slow(world.port());
  const std::string front = proxied("1.2.3.4");
  slow.send(front.substr(0, 20));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  slow.send(front.substr(20));
  slow.send(kAsks);
  EXPECT_EQ(slow.receive().status, 401);
  world.clock().leap_ms(limits::kProxyHeaderAgeMsMax + 1'000);
  RawClient replays(world.port());
  replays.send(proxied("1.2.3.4"));
  EXPECT_EQ(replays.receive().status, 0) << "what was overheard is good for a while";
  World alone("alone");
  RawClient unasked(alone.port());
  unasked.send(proxied("1.2.3.4"));
  unasked.send(kAsks);
  EXPECT_EQ(unasked.receive().status, 400) << "where there are no relays";
}

// The fault: it cost nothing, as often as one liked.
TEST(HttpRelayed, WhoSaysThatItIsARelayAndIsNotHasAskedTooOften) {
  World world("liars", nullptr, {}, false, kSecret);
  for (int i = 0; i < 8; ++i) {
    RawClient liar(world.port());
    liar.send(proxied("1.2.3.4", "another word"));
    EXPECT_EQ(liar.receive().status, 0);
  }
  RawClient same(world.port());
  bool is_closing = false;
  for (int i = 0; i < 16 && !is_closing; ++i) {  // on a slow machine it may have earned some since
    same.send(kAsks);
    is_closing = same.receive().headers.at("connection") == "close";
  }
  EXPECT_TRUE(is_closing);
}

}  // namespace
}  // namespace commensal::tests
