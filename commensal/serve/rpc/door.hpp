// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace commensal::rpc {

/// Who comes to a port, by network: so many at once, then so many a second, of each and of all
/// together (limits::kNewcomers...). Who is turned away has cost an accept and a close, not what a
/// connection costs behind it. A value; times are monotonic.
class Newcomers {
 public:
  bool admit(const std::string& network, std::int64_t now_ns);

 private:
  struct Bucket {
    double left = 0;
    std::int64_t at_ns = 0;
  };
  static bool take(Bucket& bucket, double burst, double per_second, std::int64_t now_ns);
  void forget(std::int64_t now_ns);

  std::map<std::string, Bucket> networks_;
  std::optional<Bucket> all_;
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

  int port() const { return port_; }
  /// Whom it admits it gives to `take`, who owns the socket then, until stop().
  void begin(std::function<void(int listening, int accepted)> take);
  void stop();

 private:
  Door() = default;

  core::Descriptor listening_;
  core::Descriptor wake_;
  int port_ = 0;
  std::jthread thread_;  // last: it sees the others
};

}  // namespace commensal::rpc
