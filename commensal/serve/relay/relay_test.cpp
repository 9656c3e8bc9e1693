// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <commensal/base/crypto/proxy_header.hpp>
#include <commensal/serve/relay/relay.hpp>
#include <future>
#include <optional>
#include <thread>

namespace commensal::relay {
namespace {

using core::Descriptor;

constexpr int kWaitMs = 20'000;  // as long as a busy machine may take

core::Listener listen() { return *core::listen_on({"127.0.0.1", 0}); }

std::string address_of(const core::Listener& listener) {
  return core::Endpoint{"127.0.0.1", listener.port}.text();
}

bool is_ready(const Descriptor& socket, short what, int wait_ms = kWaitMs) {
  pollfd one{socket.get(), what, 0};
  return ::poll(&one, 1, wait_ms) == 1;
}

Descriptor dial(const core::Listener& listener) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(listener.port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  return socket;
}

/// Nothing where nobody comes in time.
std::optional<Descriptor> accept(const core::Listener& listener, int wait_ms = kWaitMs) {
  if (!is_ready(listener.socket, POLLIN, wait_ms)) return std::nullopt;
  return Descriptor(::accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
}

void say(const Descriptor& socket, std::string_view words) {
  EXPECT_EQ(::send(socket.get(), words.data(), words.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(words.size()));
}

/// So many bytes, or fewer where it ends.
std::string hear(const Descriptor& socket, std::size_t bytes) {
  std::string heard;
  std::array<char, 4096> part{};
  while (heard.size() < bytes && is_ready(socket, POLLIN)) {
    const ssize_t got =
        ::recv(socket.get(), part.data(), std::min(part.size(), bytes - heard.size()), 0);
    if (got <= 0) break;
    heard.append(part.data(), static_cast<std::size_t>(got));
  }
  return heard;
}

bool has_ended(const Descriptor& socket) {
  char one = 0;
  return is_ready(socket, POLLIN) && ::recv(socket.get(), &one, 1, 0) <= 0;
}

class RelayTest : public ::testing::Test {
 protected:
  void start(const RelayOptions& options = {}) {
    std::vector<core::Listener> ports;
    ports.emplace_back();  // there is none in the first place
    ports.push_back(*core::share(port_));
    relay_ = *Relay::start(ports, clock_, options);
  }
  /// A client, and the target that it has asked something.
  struct Talk {
    Descriptor client;
    std::optional<Descriptor> target;
  };
  Talk asked() {
    point_at(1, first_);
    Talk made{dial(port_), accept(first_)};
    say(made.client, "question");
    if (made.target) {
      EXPECT_EQ(hear(*made.target, 8), "question");
    }
    return made;
  }
  void point_at(std::int64_t token, const core::Listener& target) {
    relay_->point_at({token, {"", address_of(target)}});
  }

  core::SystemClock clock_;
  core::Listener port_ = listen(), first_ = listen(), second_ = listen();
  std::unique_ptr<Relay> relay_;
};

TEST_F(RelayTest, PassesOnBothWaysUntilBothHaveEnded) {
  start();
  point_at(1, first_);
  const Descriptor client = dial(port_);
  const std::string large(8 << 20, 'x');
  std::jthread writes([&] {
    say(client, large);
    ::shutdown(client.get(), SHUT_WR);
  });
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  EXPECT_EQ(hear(*target, large.size() + 1), large);
  say(*target, "heard");
  EXPECT_EQ(hear(client, 5), "heard");
  EXPECT_EQ(relay_->connections(), 1u);
  ::shutdown(target->get(), SHUT_WR);
  EXPECT_TRUE(has_ended(client));
}

TEST_F(RelayTest, SaysWhoseConnectionItIs) {
  start();
  relay_->point_at({1, {"", address_of(first_)}, "secret"});
  const Descriptor client = dial(port_);
  say(client, "x");
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  ::getsockname(client.get(), reinterpret_cast<sockaddr*>(&here), &size);
  const auto taken = [&] {
    return crypto::take_proxy_header(target->get(), {.current = "secret"}, clock_.wall_ms());
  };
  ASSERT_TRUE(is_ready(*target, POLLIN));
  crypto::ProxyHeader said = taken();
  for (int tries = 0; said.state == crypto::ProxyHeader::State::kPartial && tries < 100; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    said = taken();
  }
  EXPECT_EQ(said.state, crypto::ProxyHeader::State::kWhole);
  EXPECT_EQ(core::connection_of(reinterpret_cast<const sockaddr*>(&said.from)),
            core::connection_of(reinterpret_cast<const sockaddr*>(&here)));
  EXPECT_EQ(hear(*target, 1), "x");
}

TEST_F(RelayTest, WaitsForATargetAndForOneThatCanBeReached) {
  start();
  const Descriptor client = dial(port_);
  say(client, "early");
  EXPECT_FALSE(accept(first_, 300));
  core::Listener gone = listen();
  const std::string nowhere = address_of(gone);
  gone.socket = Descriptor();
  relay_->point_at({1, {"", nowhere}});
  EXPECT_FALSE(accept(first_, 300));
  point_at(2, first_);
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  EXPECT_EQ(hear(*target, 5), "early");
}

TEST_F(RelayTest, DoesNotWaitForEver) {
  start({.wait_ms = 200});
  EXPECT_TRUE(has_ended(dial(port_)));
}

TEST_F(RelayTest, WhoIsWithTheTargetBeforeEnds) {
  start();
  point_at(1, first_);
  const Descriptor client = dial(port_);
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  say(client, "a");
  EXPECT_EQ(hear(*target, 1), "a");
  relay_->point_at({1, {"", ""}});  // it is to be found no more, and may finish
  say(*target, "b");
  EXPECT_EQ(hear(client, 1), "b");
  point_at(2, second_);
  EXPECT_TRUE(has_ended(client));
  const Descriptor again = dial(port_);
  EXPECT_TRUE(accept(second_));
}

TEST_F(RelayTest, ReadsNoFasterThanTheOtherSide) {
  start();
  point_at(1, first_);
  const Descriptor client = dial(port_);
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  const std::string part(1 << 16, 'x');
  std::size_t sent = 0;
  while (is_ready(client, POLLOUT, 500) && sent < (std::size_t{1} << 30)) {
    const ssize_t took = ::send(client.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (took > 0) sent += static_cast<std::size_t>(took);
  }
  EXPECT_LT(sent, std::size_t{64} << 20) << "what two pairs of sockets hold";
}

TEST_F(RelayTest, ASilentConnectionEndsOnceTheTargetHasHadTheLastWord) {
  start({.idle_ms = 300});
  point_at(1, first_);
  const Descriptor waits = dial(port_), silent = dial(port_);
  const auto first = accept(first_), second = accept(first_);
  ASSERT_TRUE(first && second);
  say(waits, "question");
  say(silent, "question");
  EXPECT_EQ(hear(*first, 8), "question");
  EXPECT_EQ(hear(*second, 8), "question");
  say(*second, "answer");
  // They may have come in either order.
  const bool is_second = is_ready(silent, POLLIN, 2'000);
  EXPECT_EQ(hear(is_second ? silent : waits, 6), "answer");
  EXPECT_TRUE(has_ended(is_second ? silent : waits));
  EXPECT_FALSE(is_ready(is_second ? waits : silent, POLLIN, 600));
}

constexpr int kPauseMs = 600;  // longer than any that tells a relay something

/// In a thread of its own, as it waits.
std::future<bool> begin_draining(Relay& relay, std::int64_t ms) {
  relay.leave_ports();
  return std::async(std::launch::async, [&relay, ms] { return relay.drain({0, ms}); });
}

void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMs)); }

// The fault: an answer that paused was cut off where it paused.
TEST_F(RelayTest, LeavesNobodyWhoMayBeAnsweredYet) {
  start();
  const Talk talk = asked();
  const auto& [client, target] = talk;
  ASSERT_TRUE(target);
  auto drained = begin_draining(*relay_, kWaitMs);
  for (const char* const part : {"one", "two", "end"}) {
    pause();
    say(*target, part);
    EXPECT_EQ(hear(client, 3), part);
  }
  ::shutdown(target->get(), SHUT_WR);
  EXPECT_TRUE(has_ended(client));
  EXPECT_TRUE(drained.get()) << "as the target has ended";
  const Descriptor late = dial(port_);  // whoever else has the socket takes it
  EXPECT_TRUE(accept(port_));
}

// The fault: who was slow to read lost what it had not read.
TEST_F(RelayTest, LeavesNobodyWhoHasYetToReadItsAnswer) {
  start();
  Talk talk = asked();
  auto& [client, target] = talk;
  ASSERT_TRUE(target);
  const std::string large(32 << 20, 'x');
  std::jthread answers([&] {
    say(*talk.target, large);
    ::shutdown(talk.target->get(), SHUT_WR);
  });
  auto drained = begin_draining(*relay_, kWaitMs);
  pause();
  EXPECT_EQ(hear(client, large.size() + 1).size(), large.size());
  EXPECT_TRUE(drained.get());
}

TEST_F(RelayTest, WhatIsLeftInTheEndLeavesBetweenTwoCallsWhereItCan) {
  start();
  const Talk talk = asked();
  const auto& [client, target] = talk;
  ASSERT_TRUE(target);
  say(*target, "answer");
  EXPECT_EQ(hear(client, 6), "answer");
  auto drained = begin_draining(*relay_, 3 * kPauseMs);
  EXPECT_FALSE(is_ready(client, POLLIN, kPauseMs)) << "nobody knows what is under way";
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(has_ended(client));
}

TEST_F(RelayTest, EndsWhoIsAtWorkInTheEndAndItsOtherPortsSooner) {
  const core::Listener other = listen(), behind_other = listen();
  std::vector<core::Listener> ports;
  ports.push_back(*core::share(port_));
  ports.push_back(*core::share(other));
  relay_ = *Relay::start(ports, clock_);
  relay_->point_at({1, {address_of(first_), address_of(behind_other)}});
  const Descriptor client = dial(port_), stream = dial(other);
  const auto target = accept(first_), behind = accept(behind_other);
  ASSERT_TRUE(target && behind);
  for (const Descriptor* const one : {&client, &stream}) say(*one, "question");
  EXPECT_EQ(hear(*target, 8), "question");
  EXPECT_EQ(hear(*behind, 8), "question");
  relay_->leave_ports();
  auto drained = std::async(std::launch::async, [&] {
    return relay_->drain({3 * limits::kRelayLastMs, 0});
  });
  EXPECT_TRUE(has_ended(stream));
  EXPECT_FALSE(is_ready(client, POLLIN, 0));
  EXPECT_TRUE(drained.get());
  EXPECT_TRUE(has_ended(client));
}

TEST_F(RelayTest, WhoHasSaidNothingLeavesAtOnce) {
  start();
  const Descriptor waits = dial(port_), asks = dial(port_);
  say(asks, "question");
  for (int tries = 0; relay_->connections() < 2 && tries < 500; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  auto drained = begin_draining(*relay_, kWaitMs);
  EXPECT_TRUE(has_ended(waits));
  EXPECT_FALSE(is_ready(asks, POLLIN, kPauseMs));
  point_at(1, first_);  // there is somebody after all
  const auto target = accept(first_);
  ASSERT_TRUE(target);
  EXPECT_EQ(hear(*target, 8), "question");
  ::shutdown(target->get(), SHUT_WR);
  EXPECT_TRUE(drained.get());
}

// The fault: with another target what the former one had said last was lost.
TEST_F(RelayTest, PassesOnWhatAFormerTargetHasSaidLast) {
  start();
  const Talk talk = asked();
  const auto& [client, target] = talk;
  ASSERT_TRUE(target);
  const std::string large(32 << 20, 'x');
  std::jthread answers([&] {
    say(*talk.target, large);
    ::shutdown(talk.target->get(), SHUT_WR);
  });
  ASSERT_TRUE(is_ready(client, POLLIN));
  point_at(2, second_);
  pause();
  EXPECT_EQ(hear(client, large.size() + 1).size(), large.size());
  EXPECT_TRUE(has_ended(client));
}

TEST_F(RelayTest, MakesRoomBeyondItsBound) {
  start({.connections_max = 3});
  point_at(1, first_);
  std::vector<Descriptor> clients;
  std::vector<Descriptor> targets;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(dial(port_));
    auto target = accept(first_);
    ASSERT_TRUE(target);
    targets.push_back(*std::move(target));
  }
  EXPECT_TRUE(has_ended(clients[0]));
  EXPECT_EQ(relay_->connections(), 3u);
  say(clients[3], "a");
  EXPECT_EQ(hear(targets[3], 1), "a");
}

}  // namespace
}  // namespace commensal::relay
