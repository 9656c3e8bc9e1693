// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/child_process.hpp>
#include <commensal/base/core/clock.hpp>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::lab::bench::collocation {

/// One of the programs in hosts/ at work, until it is stopped, or the object or the thread that
/// started it ends. It serves what it has done at a port of its own.
/// Not thread-safe.
class HostProgram {
 public:
  /// Errors: kNotFound (the program), kUnavailable (it ends or says nothing of a port).
  static core::Result<std::unique_ptr<HostProgram>> start(
      const core::Path& program, const std::vector<std::string>& arguments);
  /// How a probe reads `metric` of it, and the time that it needs.
  std::string probe_spec(std::string_view metric) const;
  pid_t pid() const { return child_.pid(); }
  /// It stands still until resume().
  void suspend() const { child_.signal(SIGSTOP); }
  void resume() const { child_.signal(SIGCONT); }
  struct Latencies {
    std::vector<double> ms{}, unhindered_ms{};
  };
  /// Of a server: those of its requests since this was asked last. Error: kUnavailable or
  /// kDeadlineExceeded (no answer), kDataLoss.
  core::Result<Latencies> latencies(const core::Clock& clock) const;
  /// Ends it and returns its last line, of JSON. Error: kUnavailable (it had ended before).
  core::Result<std::string> stop();

 private:
  explicit HostProgram(core::ChildProcess child) : child_(std::move(child)) {}

  core::ChildProcess child_;
  int port_ = 0;
};

}  // namespace commensal::lab::bench::collocation
