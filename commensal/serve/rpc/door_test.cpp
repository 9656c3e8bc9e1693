// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace commensal::rpc {
namespace {

/// A port of 127.0.0.1 whose connections nothing speaks behind.
class DoorTest : public ::testing::Test {
 protected:
  void TearDown() override { door.reset(); }  // before what it gives to
  void open(const DoorBounds& bounds) {
    door = *Door::open("localhost:0", bounds);
    door->begin([this](int, int accepted) {
      const std::lock_guard lock(mutex_);
      taken_.emplace_back(accepted);
    });
  }
  /// Whose peers may know this.
  void open_to_relays(const std::string& secret, std::int64_t stranger_ms = 60'000) {
    core::Listener listener = *core::listen_on({"127.0.0.1", 0});
    listener.relays = {.current = secret};
    door = *Door::open("127.0.0.1:0", {.stranger_ms = stranger_ms}, &listener);
    door->begin([this](int, int accepted) {
      const std::lock_guard lock(mutex_);
      taken_.emplace_back(accepted);
    });
  }
  static void say(const core::Descriptor& socket, const core::Bytes& bytes) {
    EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  static core::Bytes header(const std::string& from, const std::string& secret) {
    sockaddr_storage a{}, b{};
    EXPECT_TRUE(core::read_address(from, "1", a) && core::read_address("9.9.9.9", "2", b));
    return crypto::proxy_header(reinterpret_cast<const sockaddr*>(&a),
                                reinterpret_cast<const sockaddr*>(&b), secret,
                                core::SystemClock().wall_ms());
  }
  /// Its name is that of our end. Not valid where it was refused.
  std::pair<core::Descriptor, std::string> dial() const {
    core::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(door->port()));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return {};
    socklen_t size = sizeof at;
    ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&at), &size);
    return {std::move(socket), core::connection_of(reinterpret_cast<const sockaddr*>(&at))};
  }
  static void say(const core::Descriptor& socket, std::size_t bytes) {
    const std::string much(bytes, 'x');
    EXPECT_EQ(::send(socket.get(), much.data(), much.size(), 0), static_cast<ssize_t>(bytes));
  }
  /// Whether the other side ends it before long.
  static bool ends(const core::Descriptor& socket, int within_ms = 5'000) {
    pollfd one{socket.get(), POLLIN, 0};
    return ::poll(&one, 1, within_ms) == 1;
  }
  static bool some_end(const std::vector<core::Descriptor>& sockets) {
    for (int tries = 0; tries < 100; ++tries) {
      for (const auto& one : sockets) {
        if (ends(one, 0)) return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void wait_for(std::size_t connections) const {
    for (int tries = 0; door->connections() != connections && tries < 500; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(door->connections(), connections);
  }

  std::unique_ptr<Door> door;

 private:
  std::mutex mutex_;
  std::vector<core::Descriptor> taken_;
};

TEST_F(DoorTest, RefusesOnceItHasStopped) {
  open({});
  EXPECT_TRUE(dial().first.valid());
  door->stop();
  EXPECT_FALSE(dial().first.valid()) << "it waits in the kernel for nobody";
}

// Whatever they call meanwhile.
TEST_F(DoorTest, EndsStrangersAfterATimeAndNobodyElse) {
  open({.stranger_ms = 300});
  const auto [stranger, its_name] = dial();
  const auto [known, name] = dial();
  wait_for(2);
  door->vouch(name);
  EXPECT_TRUE(door->call(its_name));
  EXPECT_TRUE(ends(stranger));
  EXPECT_FALSE(door->call(its_name)) << "it is gone";
  EXPECT_FALSE(ends(known, 700));
  door->vouch(name);
  door->disown(name);
  EXPECT_FALSE(ends(known, 700)) << "somebody else vouches still";
  door->disown(name);
  EXPECT_TRUE(ends(known));
  wait_for(0);
}

TEST_F(DoorTest, KeepsAFewStrangersTheOldestMakesRoom) {
  open({.strangers_max = 3});
  const auto [known, name] = dial();
  wait_for(1);
  door->vouch(name);
  std::vector<std::pair<core::Descriptor, std::string>> strangers;
  for (int i = 0; i < 5; ++i) {
    strangers.push_back(dial());
    for (int tries = 0; !door->call(strangers.back().second) && tries < 500; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(door->connections(), 4u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ends(strangers[i].first, 0), i < 2) << i;
  EXPECT_FALSE(ends(known, 0));
}

TEST_F(DoorTest, TurnsAwayWhereAllAreKnown) {
  open({.connections_max = 2});
  const auto [first, name] = dial();
  wait_for(1);
  door->vouch(name);
  const auto [second, other] = dial();
  wait_for(2);
  door->vouch(other);
  EXPECT_TRUE(ends(dial().first));
  EXPECT_FALSE(ends(first, 0));
  EXPECT_FALSE(ends(second, 0));
}

// And with it the strangers of its network, as what speaks behind them may have no time to ask.
TEST_F(DoorTest, EndsWhoCallsWithoutEnd) {
  open({});
  const auto [caller, name] = dial();
  const auto [known, another] = dial();
  const auto [stranger, third] = dial();
  wait_for(3);
  door->vouch(name);
  door->vouch(another);
  int calls = 0;
  while (calls < 1'000 && door->call(name)) ++calls;
  EXPECT_NEAR(calls, limits::kDoorCallsAtOnce, 1);
  EXPECT_TRUE(ends(caller));
  EXPECT_TRUE(ends(stranger));
  EXPECT_TRUE(door->call(another));
  EXPECT_FALSE(ends(known, 0));
  EXPECT_TRUE(ends(dial().first)) << "for some seconds nobody of it is let in";
}

TEST_F(DoorTest, CutsOffWithAllStrangersOfItsNetwork) {
  open({});
  const auto [one, name] = dial();
  const auto [known, another] = dial();
  const auto [stranger, third] = dial();
  wait_for(3);
  door->vouch(another);
  EXPECT_TRUE(door->is_open(name));
  door->cut_off(name);
  EXPECT_FALSE(door->is_open(name));
  EXPECT_TRUE(ends(one));
  EXPECT_TRUE(ends(stranger));
  EXPECT_FALSE(ends(known, 0));
  EXPECT_TRUE(ends(dial().first)) << "for some seconds nobody of it is let in";
}

TEST_F(DoorTest, EndsStrangersThatSayMuch) {
  constexpr std::size_t kBytes = 1'000;
  open({.stranger_bytes_max = kBytes, .known_bytes_max = kBytes});
  const auto [known, name] = dial();
  const auto [stranger, its_name] = dial();
  wait_for(2);
  door->vouch(name);
  say(known, kBytes + 1);
  EXPECT_FALSE(ends(known, 200));
  EXPECT_FALSE(ends(stranger, 0));
  say(stranger, kBytes + 1);
  EXPECT_TRUE(ends(stranger));
  door->disown(name);
  EXPECT_FALSE(ends(known, 200)) << "what it said while it was known is not held against it";
  say(known, kBytes + 1);
  EXPECT_TRUE(ends(known));
}

// What was half sent when its stream ended may go on coming, and says nothing of its neighbours.
TEST_F(DoorTest, EndsWhoWasKnownButNotItsNetwork) {
  constexpr std::size_t kBytes = 1'000;
  open({.stranger_bytes_max = kBytes, .known_bytes_max = kBytes});
  const auto [known, name] = dial();
  const auto [stranger, its_name] = dial();
  wait_for(2);
  door->vouch(name);
  door->disown(name);
  say(known, kBytes + 1);
  EXPECT_TRUE(ends(known));
  EXPECT_FALSE(ends(stranger, 100));
  EXPECT_FALSE(ends(dial().first, 100));
}

// The fault: the next message of an account, read ahead before its token was seen, ended its
// connection.
TEST_F(DoorTest, WhoWasKnownMaySayMoreThanAStranger) {
  constexpr std::size_t kBytes = 1'000;
  open({.stranger_bytes_max = kBytes, .known_bytes_max = 4 * kBytes});
  const auto [known, name] = dial();
  wait_for(1);
  door->vouch(name);
  door->disown(name);
  say(known, 3 * kBytes);
  EXPECT_FALSE(ends(known, 200));
  say(known, 3 * kBytes);
  EXPECT_TRUE(ends(known));
}

/// As gRPC calls one whose name here is this.
std::string grpc_name(const std::string& name) {
  return "ipv4:127.0.0.1:" + name.substr(name.rfind(':') + 1);
}

// It knows whose a connection is before whatever speaks behind it sees a byte.
TEST_F(DoorTest, BelievesARelayThatKnowsTheSecret) {
  using Way = Door::Origin::Way;
  open_to_relays("secret", 2'000);
  const auto [direct, direct_name] = dial();
  say(direct, 1);
  wait_for(1);
  EXPECT_EQ(door->origin_of(direct_name).way, Way::kDirect);
  const auto [relayed, name] = dial();
  say(relayed, header("1.2.3.4", "secret"));
  EXPECT_FALSE(ends(relayed, 100)) << "nothing else has come";
  say(relayed, 5);
  wait_for(2);
  EXPECT_EQ(door->origin_of(name).way, Way::kRelayed);
  EXPECT_EQ(door->origin_of(name).network, "01020304");
  const auto [twice, its_name] = dial();
  say(twice, header("5.6.7.8", "secret"));
  say(twice, header("1.2.3.5", "secret"));
  say(twice, 1);
  wait_for(3);
  EXPECT_EQ(door->origin_of(its_name).network, "01020305") << "the one next to the client";
  const auto [silent, another] = dial();
  EXPECT_TRUE(ends(silent)) << "after a time";
}

// The fault: whoever was not known as relayed, as when it had just ended, was on this host.
TEST_F(DoorTest, WhoIsNotKnownIsNotOnThisHost) {
  open_to_relays("secret");
  const auto [direct, direct_name] = dial();
  say(direct, 1);
  const auto [relayed, name] = dial();
  say(relayed, header("1.2.3.4", "secret"));
  say(relayed, 1);
  wait_for(2);
  EXPECT_TRUE(peer_of(grpc_name(direct_name), *door).is_local);
  EXPECT_EQ(peer_of(grpc_name(direct_name), *door).network, "7f000001");
  EXPECT_FALSE(peer_of(grpc_name(name), *door).is_local);
  EXPECT_EQ(peer_of(grpc_name(name), *door).network, "01020304");
  door->end(name);
  EXPECT_EQ(door->origin_of(name).way, Door::Origin::Way::kUnknown);
  EXPECT_FALSE(peer_of(grpc_name(name), *door).is_local);
  EXPECT_EQ(peer_of(grpc_name(name), *door).network, "") << "nor its relay's";
}

// The fault: it cost nothing, as often as one liked.
TEST_F(DoorTest, WhoSaysThatItIsARelayAndIsNotIsKeptOut) {
  open_to_relays("secret");
  const auto [stranger, name] = dial();
  say(stranger, 1);
  const auto [known, another] = dial();
  say(known, 1);
  const auto [relayed, its] = dial();
  say(relayed, header("1.2.3.4", "secret"));
  say(relayed, 1);
  wait_for(3);
  door->vouch(another);
  const auto [liar, liars] = dial();
  say(liar, header("1.2.3.5", "Secret"));
  EXPECT_TRUE(ends(liar));
  EXPECT_TRUE(ends(stranger)) << "with all strangers of its network";
  EXPECT_FALSE(ends(known, 0));
  EXPECT_FALSE(ends(relayed, 0));
  const auto [next, no_name] = dial();
  say(next, 1);
  EXPECT_TRUE(ends(next)) << "for some seconds nobody of it is let in";
  const auto [later, of_later] = dial();
  say(later, header("1.2.3.6", "secret"));
  say(later, 1);
  wait_for(3);
  EXPECT_EQ(door->origin_of(of_later).network, "01020306") << "but by way of a relay there";
  // What a relay's client says itself is its client's fault.
  const auto [through, of_through] = dial();
  say(through, header("1.2.3.6", "secret"));
  say(through, header("9.9.9.9", "Secret"));
  EXPECT_TRUE(ends(through));
  EXPECT_TRUE(ends(later));
  EXPECT_FALSE(ends(relayed, 0));
}

constexpr int kMany = static_cast<int>(limits::kNewcomersAtOnce) + 64;

// The fault: who said nothing was not counted, on the ports of gateways that have relays alone.
TEST_F(DoorTest, WhoIsSilentIsANewcomerToo) {
  open_to_relays("secret");
  std::vector<core::Descriptor> silent, loud;
  for (int i = 0; i < kMany; ++i) silent.push_back(dial().first);
  for (int i = 0; i < 64; ++i) {
    loud.push_back(dial().first);
    ::send(loud.back().get(), "x", 1, MSG_NOSIGNAL);
  }
  EXPECT_TRUE(some_end(loud));
}

TEST_F(DoorTest, WhoIsSilentBehindARelayIsOneOfItsOwnNetwork) {
  open_to_relays("secret");
  const auto [relayed, its] = dial();
  say(relayed, header("1.2.3.4", "secret"));
  say(relayed, 1);
  wait_for(1);
  std::vector<core::Descriptor> silent, loud;
  for (int i = 0; i < kMany; ++i) {
    silent.push_back(dial().first);
    say(silent.back(), header("3.3.3.3", "secret"));
  }
  for (int i = 0; i < 64; ++i) {
    loud.push_back(dial().first);
    say(loud.back(), header("3.3.3.3", "secret"));
    ::send(loud.back().get(), "x", 1, MSG_NOSIGNAL);
  }
  EXPECT_TRUE(some_end(loud));
  const auto [other, name] = dial();
  say(other, header("3.3.3.4", "secret"));
  say(other, 1);
  EXPECT_FALSE(ends(other, 200));
  EXPECT_EQ(door->origin_of(name).network, "03030304");
}

TEST_F(DoorTest, TheNetworkOfARelayIsNoNewcomers) {
  open_to_relays("secret");
  std::vector<core::Descriptor> all;
  for (int i = 0; i < kMany; ++i) {
    all.push_back(dial().first);
    say(all.back(), header("1.2." + std::to_string(i) + ".4", "secret"));
    say(all.back(), 1);
    if (i == 0) wait_for(1);
  }
  for (int i = kMany - 32; i < kMany; ++i) EXPECT_FALSE(ends(all[i], 5)) << i;
}

TEST_F(DoorTest, ForgetsWhoLeft) {
  open({});
  {
    const auto gone = dial();
    wait_for(1);
  }
  const auto [stays, name] = dial();
  wait_for(2);  // what speaks behind it has not ended it
  EXPECT_TRUE(door->call(name));
}

}  // namespace
}  // namespace commensal::rpc
