// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <functional>
#include <memory>
#include <string>

namespace commensal::guest {

/// A governor's line of status in Prometheus' text format (version 0.0.4). What is not known is
/// left out. Error: kDataLoss (it is no such line).
core::Result<std::string> metrics_of(const std::string& status_line);

/// Serves GET /metrics over HTTP/1.1 on a thread of its own, one answer at a time, each connection
/// closed after it; who is slower than two seconds or says more than 8 KiB is cut off.
/// Thread-safety: one owner.
class MetricsServer {
 public:
  /// `where`: ADDRESS:PORT, numeric, [ADDRESS]:PORT for IPv6; port 0 is any that is free. `text`
  /// makes the metrics, on the server's thread; where it fails there is status 503 with its error.
  /// The clock outlives it. Errors: kInvalidArgument (where), kUnavailable (it is taken, say).
  static core::Result<std::unique_ptr<MetricsServer>> start(
      const std::string& where, const core::Clock& clock,
      std::function<core::Result<std::string>()> text);
  ~MetricsServer();
  std::uint16_t port() const;

 private:
  struct State;
  explicit MetricsServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// ... of what the governor of that folder says when it is asked.
core::Result<std::unique_ptr<MetricsServer>> serve_governor(const std::string& where,
                                                            const core::Path& folder,
                                                            const core::Clock& clock);

}  // namespace commensal::guest
