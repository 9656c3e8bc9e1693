// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <variant>

namespace commensal::rpc {

/// Who comes to a port, by network: so many at once, then so many a second, of each and of all
/// together (limits::kNewcomers...). Who is turned away has cost an accept and a close, not what a
/// connection costs behind it. A value; times are monotonic.
class Newcomers {
 public:
  bool admit(const std::string& network, std::int64_t now_ns) {
    return of_one_.take(network, now_ns) && of_all_.take({}, now_ns);
  }

 private:
  static constexpr double kBurstS = limits::kNewcomersAtOnce / limits::kNewcomersPerSecond;

  core::Rates<std::string> of_one_{limits::kNewcomersPerSecond, kBurstS};
  core::Rates<std::monostate> of_all_{limits::kNewcomersAllPerSecond, 1};
};

/// A TCP port that listens, and admits newcomers as above on a thread of its own.
/// Thread-safety: the owner's thread.
class Door {
 public:
  /// `address` is "host:port"; port 0 takes a free one. Error: kUnavailable, one line that says
  /// why.
  static core::Result<std::unique_ptr<Door>> open(const std::string& address);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;
  ~Door();

  int port() const { return listener_.port; }
  /// Whom it admits it gives to `take`, who owns the socket then, until stop().
  void begin(std::function<void(int listening, int accepted)> take);
  void stop();

 private:
  Door() = default;

  core::Listener listener_;
  core::Descriptor wake_;
  std::jthread thread_;  // last: it sees the others
};

}  // namespace commensal::rpc
