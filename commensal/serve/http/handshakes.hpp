// SPDX-License-Identifier: Apache-2.0
#pragma once

// Within http/ only: this header shows Boost.
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rates.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <variant>

namespace commensal::http {

/// Whose handshake of TLS is next. One costs this side some ten times what it costs whoever begins
/// it, so there are so many a second (limits::kHttpHandshakes...); beyond that the network that has
/// had none for longest is first, and who came first of one network.
/// `io` and `clock` outlive it. Thread-safety: any thread.
class Handshakes {
 public:
  using Begin = std::function<bool()>;

  Handshakes(boost::asio::io_context& io, const core::Clock& clock);

  /// `begin` is called on some thread, when it is its turn; quick. False: it has been closed
  /// meanwhile, and the next is begun.
  void wait(const std::string& network, Begin begin);

 private:
  struct Waiting {
    std::uint64_t number = 0;  // in the order of coming
    Begin begin;
  };
  struct Line {
    std::deque<Waiting> waiting;
    std::int64_t served_ns = 0;
  };

  void serve_locked();
  void forget_locked(std::int64_t now_ns);

  const core::Clock& clock_;
  std::mutex mutex_;  // guards the rest
  core::Rates<std::monostate> rate_;
  boost::asio::steady_timer timer_;
  bool is_waiting_ = false;  // for the timer
  std::map<std::string, Line> lines_;
  // Of those with somebody: when it was served, the first one's number.
  std::set<std::tuple<std::int64_t, std::uint64_t, std::string>> due_;
  std::uint64_t last_number_ = 0;
};

}  // namespace commensal::http
