// SPDX-License-Identifier: Apache-2.0
// What one account, or nobody in particular, may have of the server.
#include <gtest/gtest.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <deque>
#include <thread>

#include <tests/http/raw_client.hpp>
#include <tests/http/wide.hpp>
#include <tests/http/world.hpp>

namespace commensal::tests {
namespace {

constexpr std::string_view kAccount = "GET /v1/account HTTP/1.1\r\n";

std::string upload(const std::string& token, std::size_t bytes) {
  return "POST /v2/models/alice/digits/infer HTTP/1.1\r\n" + header(token) +
         fmt::format("Content-Length: {}\r\n\r\n", bytes);
}

int status_of(const World& world, const std::string& token) {
  RawClient raw(world.port());
  raw.send(std::string(kAccount) + header(token) + "\r\n");
  return raw.receive().status;
}

/// The last one, when it is this one or some seconds have passed.
int wait_for_status(const World& world, const std::string& token, int wanted) {
  int status = status_of(world, token);
  for (int i = 0; i < 500 && status != wanted; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = status_of(world, token);
  }
  return status;
}

// More than sockets take in where nobody reads.
constexpr std::int64_t kWide = 6'000'000, kWideBytes = 4 * kWide;

/// Held once answers of so many bytes wait for their readers, and nothing is written any more.
std::int64_t rest_of(const World& world, std::int64_t bytes) {
  for (int i = 0; i < 2'000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::int64_t held = world.bytes_held();
    if (held >= bytes && held < bytes + bytes / 16) break;
  }
  return world.bytes_held();
}

/// Until so many bytes are held, or some seconds have passed.
void wait_for_bytes(const World& world, std::int64_t bytes) {
  for (int i = 0; i < 2'000 && world.bytes_held() != bytes; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(HttpQuota, AnAccountSendsSoManyRequestsASecond) {
  World world("rate", nullptr, {.requests_per_s = 2, .models = {}});
  RawClient raw(world.port());
  const std::string request = std::string(kAccount) + header(world.alice) + "\r\n";
  for (int i = 0; i < 8; ++i) {
    raw.send(request);
    EXPECT_EQ(raw.receive().status, 200) << i;
  }
  raw.send(request);
  const RawResponse refused = raw.receive();
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_NE(refused.body.find("2 requests a second"), std::string::npos) << refused.body;
  EXPECT_EQ(status_of(world, world.bob), 200);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status_of(world, world.root), 200);
  world.clock().leap_ms(1'000);
  EXPECT_EQ(status_of(world, world.alice), 200);
}

TEST(HttpQuota, WhoIsNobodySendsSoManyRequestsASecond) {
  World world("nobody");
  const std::string request = "GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n";
  RawClient known(world.port()), raw(world.port());
  known.send(std::string(kAccount) + header(world.alice) + "\r\n");
  EXPECT_EQ(known.receive().status, 200);
  int served = 0;
  RawResponse last{.status = 200, .headers = {}, .body = {}};
  for (; last.status == 200 && served < 100'000; ++served) {
    raw.send(request);
    last = raw.receive();
  }
  EXPECT_GE(served, limits::kStrangerRequestsAtOnce);
  EXPECT_EQ(last.status, 429);
  EXPECT_NE(last.body.find("without a token"), std::string::npos) << last.body;
  EXPECT_TRUE(raw.is_closed());
  int of_known = 0;  // an account's connection: as often, by itself
  for (last = {.status = 200, .headers = {}, .body = {}}; last.status == 200; ++of_known) {
    known.send(request);
    last = known.receive();
    ASSERT_LE(of_known, 100'000);
  }
  EXPECT_GE(of_known, limits::kStrangerRequestsAtOnce);
  EXPECT_EQ(last.status, 429);
  world.clock().leap_ms(1'000);
  RawClient again(world.port());
  again.send(request);
  EXPECT_EQ(again.receive().status, 200);
  for (int i = 0; i < 2 * limits::kStrangerRequestsAtOnce; ++i) {
    EXPECT_EQ(status_of(world, world.alice), 200) << i;
  }
}

TEST(HttpQuota, AnAccountsBodiesTakeAQuarterOfTheMemoryAtMost) {
  World world("memory", nullptr, {.models = {}, .memory_bytes_max = 4 << 20});
  std::optional<RawClient> slow(world.port());
  slow->send(upload(world.alice, 900'000) + std::string(800'000, ' '));
  wait_for_bytes(world, 3 * limits::kHttpPieceBytes);
  RawClient more(world.port());
  more.send(upload(world.alice, 500'000) + std::string(500'000, ' '));
  const RawResponse refused = more.receive();
  EXPECT_EQ(refused.status, 429) << refused.body;
  EXPECT_NE(refused.body.find("wait for some"), std::string::npos) << refused.body;
  RawClient other(world.port());
  other.send(upload(world.bob, 500'000) + std::string(500'000, ' '));
  EXPECT_EQ(other.receive().status, 400);  // no JSON
  slow.reset();
  wait_for_bytes(world, 0);
  EXPECT_EQ(world.bytes_held(), 0);
  RawClient again(world.port());
  again.send(upload(world.alice, 500'000) + std::string(500'000, ' '));
  EXPECT_EQ(again.receive().status, 400);
}

TEST(HttpQuota, ABodyThatNeverFitsIsNotToBeSentAgain) {
  World world("body", nullptr, {.models = {}, .memory_bytes_max = 4 << 20});
  RawClient raw(world.port());
  raw.send(upload(world.alice, 1'400'000) + std::string(1'400'000, ' '));
  const RawResponse refused = raw.receive();
  EXPECT_EQ(refused.status, 422) << refused.body;
  EXPECT_FALSE(refused.headers.contains("retry-after"));
}

TEST(HttpQuota, AnswersCountUntilTheyAreRead) {
  World world("answers");
  world.start_provider();
  push_wide(world);
  RawClient reads(world.port());
  reads.send(ask_wide(world.alice, kWide));
  const std::int64_t held = rest_of(world, kWideBytes);
  EXPECT_GE(held, kWideBytes);
  EXPECT_LT(held, kWideBytes + kWideBytes / 16);
  EXPECT_GE(std::ssize(reads.receive().body), kWideBytes);
  wait_for_bytes(world, 0);
  EXPECT_EQ(world.bytes_held(), 0);
}

// Whoever reads none of its answers has a quarter of the memory in all, and others what they need.
TEST(HttpQuota, AnAccountsAnswersTakeAQuarterOfTheMemoryAtMost) {
  World world("unread", nullptr, {.models = {}, .memory_bytes_max = 17 * kWideBytes});
  world.start_provider();
  push_wide(world);
  std::deque<RawClient> unread;
  for (int i = 1; i <= 3; ++i) {  // a fourth would be there twice while it is written
    unread.emplace_back(world.port()).send(ask_wide(world.alice, kWide));
    ASSERT_GE(rest_of(world, i * kWideBytes), i * kWideBytes) << i;
  }
  for (int i = 0; i < 4; ++i) {
    RawClient more(world.port());
    more.send(ask_wide(world.alice, kWide));
    const RawResponse refused = more.receive();
    EXPECT_EQ(refused.status, 429) << refused.body;
    EXPECT_EQ(refused.headers.at("retry-after"), "1");
    EXPECT_NE(refused.body.find("wait for some"), std::string::npos) << refused.body;
    EXPECT_NE(refused.body.find("/opening has them"), std::string::npos) << refused.body;
  }
  RawClient other(world.port());
  other.send(ask_wide(world.bob, kWide));
  EXPECT_EQ(other.receive().status, 200);
  unread.clear();
  wait_for_bytes(world, 0);
  EXPECT_EQ(world.bytes_held(), 0);
  RawClient again(world.port());
  again.send(ask_wide(world.alice, kWide));
  EXPECT_EQ(again.receive().status, 200);
}

TEST(HttpQuota, AnAnswerThatIsTooLongAsJsonIsToBeAskedForAsBinaryData) {
  World world("json");
  world.start_provider();
  push_wide(world);
  RawClient raw(world.port());
  raw.send(ask_wide(world.alice, kWide, false));
  const RawResponse refused = raw.receive();
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("binary_data_output"), std::string::npos) << refused.body;
  raw.send(ask_wide(world.alice, 1'000'000, false));
  EXPECT_EQ(raw.receive().status, 200);
}

TEST(HttpQuota, AnAccountHasAQuarterOfTheConnections) {
  World world("slots");
  std::deque<RawClient> held;
  for (int i = 0; i < limits::kConnectionsMax / 4; ++i) {
    held.emplace_back(world.port());
    held.back().send("POST /v2/models/alice/digits/infer HTTP/1.1\r\n" + header(world.alice) +
                     "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n");
    EXPECT_EQ(held.back().receive().status, 100) << i;  // it has its place
  }
  EXPECT_EQ(status_of(world, world.alice), 429);
  EXPECT_EQ(status_of(world, world.bob), 200);
  held.pop_back();
  EXPECT_EQ(wait_for_status(world, world.alice, 200), 200);
}

TEST(HttpQuota, WhoIsSilentMakesRoom) {
  World world("silent");
  std::deque<RawClient> silent;
  for (int i = 0; i < limits::kConnectionsMax; ++i) {
    silent.emplace_back(world.port());
    if (i % 2 == 0) silent.back().send("GET /v2 HT");
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(world, world.bob), 200) << i;
  EXPECT_TRUE(silent.front().is_closed());
}

// Talk that costs nothing holds no place against who has an account.
TEST(HttpQuota, StrangersMakeRoomHoweverMuchTheySay) {
  World world("talkers");
  std::deque<RawClient> strangers;
  for (int i = 0; i < limits::kConnectionsMax - 1; ++i) {
    strangers.emplace_back(world.port(), 1 + i % 8);
  }
  const std::string account =
      "GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + world.bob + "\r\n\r\n";
  RawClient bob(world.port());
  bob.send(account);
  EXPECT_EQ(bob.receive().status, 200);
  for (RawClient& stranger : strangers) {
    stranger.send("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(stranger.receive().status, 200);
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(world, world.alice), 200) << i;
  bob.send(account);
  EXPECT_EQ(bob.receive().status, 200);
}

// Who has an account and keeps connections that it does not use has no more of them than others.
TEST(HttpQuota, WhoHoardsConnectionsMakesRoom) {
  World world("hoard");
  const auto account = [](const std::string& token) {
    return std::string(kAccount) + header(token) + "\r\n";
  };
  std::deque<RawClient> hoard;
  for (int i = 0; i < limits::kConnectionsMax; ++i) {
    hoard.emplace_back(world.port()).send(account(world.alice));
    ASSERT_EQ(hoard.back().receive().status, 200) << i;
  }
  std::deque<RawClient> pool;
  for (int i = 0; i < 64; ++i) pool.emplace_back(world.port());
  for (RawClient& one : pool) {
    one.send(account(world.bob));
    EXPECT_EQ(one.receive().status, 200);
  }
}

// A body that is announced without a name and never comes holds no place either.
TEST(HttpQuota, StrangersMakeRoomWhateverTheyPromise) {
  World world("promises");
  const std::string account =
      "GET /v1/account HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + world.bob + "\r\n\r\n";
  RawClient bob(world.port());
  bob.send(account);
  EXPECT_EQ(bob.receive().status, 200);
  std::deque<RawClient> strangers;
  for (int i = 0; i < limits::kConnectionsMax + 100; ++i) {
    strangers.emplace_back(world.port(), 1 + i % 8);
    strangers.back().send("GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(world, world.alice), 200) << i;
  bob.send(account);  // known, and silent for longer than any of them
  EXPECT_EQ(bob.receive().status, 200);
}

TEST(HttpQuota, BodiesMustComeAtSomeRate) {
  World world("trickle");
  RawClient raw(world.port());
  raw.send(upload(world.alice, 1'000'000));
  raw.send(std::string(300'000, ' '));
  wait_for_bytes(world, limits::kHttpPieceBytes);
  EXPECT_EQ(world.bytes_held(), static_cast<std::int64_t>(limits::kHttpPieceBytes));
  world.clock().leap_ms(60'000);  // for this piece and the next 38 would be enough
  raw.send(std::string(300'000, ' '));
  EXPECT_EQ(raw.receive().status, 408);
}

TEST(HttpQuota, AnAccountKeepsSoManyModels) {
  World world("models", nullptr, {.models = {.models_max = 2, .bytes_max = 1 << 20}});
  const core::Bytes bytes = digits_model();
  client::Client alice = world.client(world.alice);
  ASSERT_TRUE(alice.push({.model = "alice/second", .bytes = bytes, .progress = {}}));
  const auto third = alice.push({.model = "alice/third", .bytes = bytes, .progress = {}});
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, core::ErrorCode::kResourceExhausted);
  EXPECT_TRUE(world.client(world.bob).push({.model = "bob/first", .bytes = bytes, .progress = {}}));
}

}  // namespace
}  // namespace commensal::tests
