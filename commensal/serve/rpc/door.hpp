// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_newcomers.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <variant>

namespace commensal::rpc {

/// Who comes to a port, by network: so many at once, then so many a second, of each and of all
/// together (limits::kNewcomers...), those apart in which somebody has been known lately: a crowd
/// of strangers does not keep them out. Where all together have come too often, each network is let
/// in once in limits::kNewcomersRareEveryS all the same, as far as they are few. Who is turned away
/// has cost an accept and a close, not what a connection costs behind it. A value; times are
/// monotonic.
class Newcomers {
 public:
  bool admit(const std::string& network, std::int64_t now_ns) {
    if (!of_one_.take(network, now_ns)) return false;
    return (is_known(network, now_ns) && of_known_.take({}, now_ns)) || of_all_.take({}, now_ns) ||
           (of_one_rare_.take(network, now_ns) && of_rare_.take({}, now_ns));
  }
  /// Somebody in it is known, for a while: beyond so many networks of the last ones.
  void know(const std::string& network, std::int64_t now_ns) {
    known_ns_[network] = now_ns;
    if (known_ns_.size() <= limits::kNewcomersKnownMax) return;
    known_ns_.erase(
        std::ranges::min_element(known_ns_, {}, [](const auto& one) { return one.second; }));
  }
  /// It has come as if twice as often as it may at once: for eight seconds it is not let in.
  void punish(const std::string& network, std::int64_t now_ns) {
    of_one_.charge(network, 2 * limits::kNewcomersAtOnce, now_ns);
  }

 private:
  static constexpr double kBurstS = limits::kNewcomersAtOnce / limits::kNewcomersPerSecond;

  bool is_known(const std::string& network, std::int64_t now_ns) const {
    const auto found = known_ns_.find(network);
    return found != known_ns_.end() &&
           now_ns - found->second < limits::kNewcomersKnownMs * std::int64_t{1'000'000};
  }

  std::map<std::string, std::int64_t> known_ns_;  // when somebody last was, by network
  core::Rates<std::string> of_one_{limits::kNewcomersPerSecond, kBurstS};
  core::Rates<std::monostate> of_all_{limits::kNewcomersAllPerSecond, 1};
  core::Rates<std::monostate> of_known_{limits::kNewcomersAllPerSecond, 1};
  core::Rates<std::string> of_one_rare_{1 / limits::kNewcomersRareEveryS, 1};
  core::Rates<std::monostate> of_rare_{limits::kNewcomersRarePerSecond, 1};
};

struct DoorBounds {
  std::int64_t stranger_ms = limits::kHelloWaitMs;
  std::size_t strangers_max = limits::kStrangersMax;
  std::size_t connections_max = limits::kDoorConnectionsMax;
  std::uint64_t stranger_bytes_max = limits::kStrangerBytesMax;
  std::uint64_t known_bytes_max = limits::kStrangerBytesMax;  // of whom somebody has vouched for
  std::string_view whom = "providers";                        // it is for, in errors
};

/// A TCP port that listens. It admits newcomers as above, knows the connections that it has let in
/// until they end, and ends them itself: those of strangers, whom nobody vouches for, after a time
/// and where there are too many (core::who_leaves, parties are networks). Who calls too often, or
/// says too much before anybody has vouched for it, ends with all strangers of its network, which
/// is let in again some seconds later: gRPC may have read very many calls before it asks us about
/// the first. Whatever speaks behind it may keep strangers no longer. Connections go by the name
/// core::connection_of() their other end. A connection that a relay has handed on, as it proves
/// with the listener's secret, counts as its client's network's. Who is silent counts as a newcomer
/// too, but of a network that relays have proved to be in; who says that it is a relay and cannot
/// prove it ends with all strangers of its network, as above. Thread-safety: any thread, but open,
/// begin and stop, the owner's.
class Door {
 public:
  /// How a connection has come.
  struct Origin {
    enum class Way : std::uint8_t {
      kUnknown,  // it is not known, or has ended: it may be anybody's
      kDirect,
      kRelayed,
    };
    Way way = Way::kUnknown;
    std::string network;  // whose it is; "" where that is not known
  };

  /// `address` is "host:port"; port 0 takes a free one. At most half of the process's files are
  /// for connections, two each. `listening`, where there is one, does so already. Error:
  /// kUnavailable, one line that says why.
  static core::Result<std::unique_ptr<Door>> open(const std::string& address,
                                                  const DoorBounds& bounds = {},
                                                  const core::Listener* listening = nullptr);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  int port() const { return listener_.port; }
  /// Whom it admits it gives to `take`, who owns the socket then, until stop().
  void begin(std::function<void(int listening, int accepted)> take);
  void stop();

  /// One more call on it. False where it has too many (limits::kDoorCalls...), or has ended.
  bool call(const std::string& connection);
  void end(const std::string& connection);
  /// Whether it is there and its other end too, as far as is known.
  bool is_open(const std::string& connection) const;
  /// As end(), and with it all strangers of its network, as above.
  void cut_off(const std::string& connection);
  /// It is no stranger's, until as many disown() as vouch().
  void vouch(const std::string& connection);
  void disown(const std::string& connection);
  /// Somebody whom we know speaks on it: its network comes beside those of strangers for a while.
  void know(const std::string& connection);
  std::size_t connections() const;
  Origin origin_of(const std::string& connection) const;

 private:
  struct Connection {
    core::Descriptor copy;  // of the socket: to end it, and to see that it has ended
    std::string network;
    std::int64_t since_ns = 0;     // it came, or was disowned
    std::uint64_t heard_then = 0;  // bytes
    int vouched = 0;
    bool was_vouched = false;  // what it goes on saying was begun while it was no stranger's
    bool is_relayed = false;
  };
  /// One that has not said yet whether a relay hands it on.
  struct Unheard {
    core::Descriptor socket;
    sockaddr_storage peer{}, from{};
    std::int64_t since_ns = 0;
    std::string charged = {};  // the network that it has counted for as a newcomer; "": none yet
    bool is_relayed = false;
  };
  using Connections = std::map<std::string, Connection>;

  Door() = default;
  void run(const std::stop_token& stop, const std::function<void(int, int)>& take);
  void accept(const std::function<void(int, int)>& take);
  void listen_to(int accepted, const sockaddr_storage& from);
  void hear(int socket, const std::function<void(int, int)>& take);
  void note_relay(const sockaddr_storage& peer);
  void forget_unheard();
  bool welcome(const std::string& network);
  void punish(const std::string& network);
  bool admit(int accepted, const sockaddr_storage& peer, std::string network, bool is_relayed);
  bool make_room_locked();
  void end_locked(Connections::iterator which);
  void cut_off_locked(Connections::iterator which);
  void punish_locked(const std::string& network);
  bool look_at_strangers();
  void sweep();

  const core::SystemClock clock_{};
  DoorBounds bounds_;
  core::Listener listener_;
  core::Descriptor wake_, events_;
  std::map<int, Unheard> unheard_;              // the thread's
  std::map<std::string, std::int64_t> relays_;  // likewise: network -> when it last proved to be
  mutable std::mutex mutex_;                    // guards what follows
  Newcomers newcomers_;
  Connections connections_;
  core::Rates<std::string> calls_{limits::kDoorCallsPerSecond,
                                  limits::kDoorCallsAtOnce / limits::kDoorCallsPerSecond};
  std::jthread thread_;  // last: it sees the others
};

}  // namespace commensal::rpc
