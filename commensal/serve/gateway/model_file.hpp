// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <map>
#include <optional>

/// What has become of a model's file since it was pushed: disks lose bits, and people files. Pure
/// functions but for the reading, which may take seconds. Any thread.
namespace commensal::gateway {

/// Whether the file is there, with these bytes.
bool holds(const core::Path& file, core::ByteView bytes);
/// Whether it is the one with this SHA-256. Error: kDataLoss, with its name.
core::Result<void> check_model_file(const core::Path& file, const core::Digest& content);

/// When a model's file is looked at because a provider says that it is damaged: files may be large,
/// and providers lie. One at a time, each once in a while, and all of them for a tenth of the time.
/// Thread-safety: none.
class Doubts {
 public:
  /// Whether it is to be looked at now; if so, end() is to follow.
  bool begin(const core::Digest& content, std::int64_t now_ms);
  /// The look has taken so long.
  void end(std::int64_t took_ms, std::int64_t now_ms);

 private:
  std::map<core::Digest, std::int64_t> until_ms_;  // of those looked at lately
  std::optional<core::Digest> now_;                // is looked at
  std::int64_t next_ms_ = 0;
};

}  // namespace commensal::gateway
