// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/lab/hostile/crowd.hpp>
#include <cstdint>
#include <thread>
#include <vector>

namespace commensal::lab::hostile {

/// What honest providers have felt that came in a window.
struct Came {
  std::vector<double> ms;  // until each was challenged
  std::uint64_t late = 0;  // those that were not within three seconds
};

/// Honest providers that come anew, one each half second, from an address of their own (127.3.0.1);
/// who is turned away tries again. Each goes once it is challenged. Thread-safety: the owner's
/// thread.
class NewcomingProviders {
 public:
  /// Begins; the port is one without TLS.
  explicit NewcomingProviders(std::uint16_t port)
      : port_(port), thread_([this](const std::stop_token& stop) { run(stop); }) {}
  /// No more come.
  void stop() { thread_.request_stop(); }
  /// Waits for the one that is under way.
  Came end();

 private:
  void run(const std::stop_token& stop);
  /// Nothing where it was turned away.
  bool try_once(std::int64_t until_ns);

  const core::SystemClock clock_;
  const std::uint16_t port_;
  std::atomic<std::uint64_t> dropped_ = 0;  // what a crowd counts
  Came came_;                               // the thread's, until it has ended
  std::jthread thread_;                     // last: it sees the others
};

}  // namespace commensal::lab::hostile
