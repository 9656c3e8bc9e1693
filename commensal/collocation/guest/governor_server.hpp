// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/guest/lines.hpp>
#include <commensal/collocation/guest/messages.hpp>
#include <functional>
#include <vector>

namespace commensal::guest {

/// Where a machine's governor speaks to the other guests: who they are, what they want, what each
/// may do. The guest in the governor's own process is the first of them.
/// Thread-safety: none. Times are the caller's, in seconds.
class GovernorServer {
 public:
  static constexpr std::size_t kPeersMax = 128;
  static constexpr double kSilentS = 5;       // a guest that says nothing for so long is gone
  static constexpr double kHeartbeatS = 0.5;  // how often a guest hears its level at least

  /// `processors`: of the machine. Errors: those of listen_at(); kUnavailable.
  /// `promise`: that holds to begin with.
  static core::Result<GovernorServer> open(const core::Path& socket, std::string host,
                                           const Join& own, double processors,
                                           const Promise& promise = {});

  /// Waits at most `wait_ms` for somebody to say something, and takes in all that was said;
  /// `status` answers who asks.
  void listen(int wait_ms, double now_s, const std::function<std::string()>& status);
  /// Divides the governor's level among the guests and tells them. Returns the own guest's.
  double share(double now_s, double level, const Report& own);
  /// What the governor's level is of: the most threads that the guests have had at a time, but no
  /// more than the machine has processors. It never shrinks, so that a level keeps its meaning.
  double capacity() const { return capacity_; }
  std::vector<GuestStatus> guests() const;
  /// The strictest that any guest has asked for since it began, gone ones too; all have heard it.
  const Promise& promise() const { return promise_; }
  /// There is no guest but the one in this process.
  bool is_alone() const { return peers_.empty(); }
  /// listen() returns at once, now or the next time. Any thread.
  void wake() const;

 private:
  struct Peer {
    explicit Peer(Lines made) : lines(std::move(made)) {}
    Lines lines;
    std::optional<GuestStatus> guest{};
    double heard_s = 0;
    double told_s = 0;
    double told_level = -1;
  };

  GovernorServer(Descriptor listener, Descriptor bell, std::string host, const Join& own,
                 double processors, const Promise& promise);
  void welcome(Peer& peer, const Join& join);
  void hear(Peer& peer, double now_s, const std::function<std::string()>& status);
  core::Result<void> take(Peer& peer, const std::string& line,
                          const std::function<std::string()>& status);
  void count_threads();

  Descriptor listener_;
  Descriptor bell_;
  std::string host_;
  double processors_;
  Promise promise_;
  GuestStatus own_;
  std::vector<Peer> peers_;
  double capacity_ = 0;
};

}  // namespace commensal::guest
