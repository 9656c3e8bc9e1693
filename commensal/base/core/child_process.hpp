// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <commensal/base/core/file.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::core {

/// A program that was started by this one, and ends with the object or with the thread that started
/// it. Its standard output is read by the line. Not thread-safe.
class ChildProcess {
 public:
  /// `log` takes its standard error; empty: ours does. Errors: kNotFound (the program),
  /// kResourceExhausted.
  static Result<ChildProcess> start(std::vector<std::string> command, const Path& log = {});
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  /// SIGKILL, and waits until it is gone.
  ~ChildProcess();

  pid_t pid() const { return pid_; }
  /// Errors: kUnavailable (it ended, or said nothing for so long), kResourceExhausted (a line of
  /// more than `bytes_max`).
  Result<std::string> read_line(int wait_ms, std::size_t bytes_max);
  bool is_running();
  void signal(int number) const;
  /// Waits for its end.
  void wait();
  /// SIGTERM. Its exit status; nothing where a signal ended it, or nothing has within `wait_ms`.
  std::optional<int> terminate(int wait_ms);

 private:
  ChildProcess() = default;

  pid_t pid_ = 0;  // 0: it has ended
  int out_ = -1;
};

}  // namespace commensal::core
