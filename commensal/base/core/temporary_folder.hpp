// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <string_view>
#include <utility>

namespace commensal::core {

/// A new, empty folder below `parent` (where it is empty: below the system's folder for temporary
/// files), for its owner only; `name` is how it begins. Who asks for it removes it.
/// Error: kDataLoss.
Result<Path> make_temporary_folder(std::string_view name, const Path& parent = {});

/// The same, removed together with the object and with all that lies in it then.
class TemporaryFolder {
 public:
  /// Error: kDataLoss.
  static Result<TemporaryFolder> make(std::string_view name, const Path& parent = {});
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ~TemporaryFolder();
  const Path& path() const { return path_; }

 private:
  explicit TemporaryFolder(Path path) : path_(std::move(path)) {}
  Path path_;  // empty: moved from
};

}  // namespace commensal::core
