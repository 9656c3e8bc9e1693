// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <commensal/base/core/result.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace commensal::core {

/// A program, as it is to be started.
struct Spawn {
  static constexpr int kNothing = -1;  // /dev/null

  /// The program, looked for in PATH where it is no path, and its arguments.
  std::vector<std::string> command;
  /// What become its descriptors 0, 1, 2, ...; it has no others.
  std::vector<int> files;
  /// That it gets when the thread ends that has started it; 0: none.
  int death_signal = 0;
  /// All of its environment, as NAME=value. None: that of this process.
  std::optional<std::vector<std::string>> environment = {};
  /// The terminal's signals go elsewhere.
  bool has_own_group = false;
};

/// Starts it; no signal is blocked or ignored in it. Whoever calls waits for its end (waitpid).
/// Cheap whatever memory this process has. Thread-safety: any thread. Errors: kNotFound (no such
/// program), kResourceExhausted (no process).
Result<pid_t> spawn(const Spawn& what);

}  // namespace commensal::core
