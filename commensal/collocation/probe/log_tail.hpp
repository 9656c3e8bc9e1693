// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace commensal::probe {

/// A log that somebody writes to, and the newest line that fits a pattern. Each look reads what was
/// added, at most kProbeLogBytesMax (the newest), and lines up to kProbeLineBytesMax. When the path
/// leads to another file, the rest of the old one is read first; when the file has become shorter,
/// it is read from its beginning. Not thread-safe.
class LogTail {
 public:
  /// `pattern`: RE2's syntax. The file need not exist yet. Error: kInvalidArgument (no pattern with
  /// a group, or too long).
  static core::Result<LogTail> open(core::Path path, std::string_view pattern);
  LogTail(LogTail&&) noexcept;
  LogTail& operator=(LogTail&&) = delete;
  ~LogTail();

  struct Match {
    std::string figure;        // the first group
    std::uint64_t number = 0;  // of the lines that have fitted so far
  };
  /// Errors: kNotFound (no file), kInvalidArgument (no regular file), kUnavailable (no line has
  /// fitted yet).
  core::Result<Match> newest();

 private:
  struct State;
  explicit LogTail(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::probe
