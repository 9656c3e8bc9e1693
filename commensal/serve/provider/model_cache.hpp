// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <vector>

namespace commensal::provider {

/// Model files on disk under their content's SHA-256; the least recently used go first.
/// Thread-safety: one thread at a time.
class ModelCache {
 public:
  /// Takes up what lies in `folder`, which it creates. Error: kDataLoss.
  static core::Result<ModelCache> open(core::Path folder, std::int64_t bytes_max);

  /// Those used last are last; limits::kHelloModelsMax of them at most.
  std::vector<core::Digest> models() const;
  core::Path path_of(const core::Digest& model) const;
  /// The file has just been used, or has just been written at path_of(model): it is now the
  /// youngest; others go until the rest fits.
  void touch(const core::Digest& model);
  /// How much more fits, all that is here kept.
  std::uint64_t room_bytes() const;
  /// The file has been written at path_of(model), and is the youngest, if there is room for it;
  /// else it goes. What is here already stays as it is.
  void keep(const core::Digest& model);
  /// The file has been removed, unless it has come again since.
  void forget(const core::Digest& model);
  bool has(const core::Digest& model) const { return std::filesystem::exists(path_of(model)); }

 private:
  struct Entry {
    core::Digest model;
    std::int64_t bytes = 0;
  };
  ModelCache(core::Path folder, std::int64_t bytes_max)
      : folder_(std::move(folder)), bytes_max_(bytes_max) {}

  core::Path folder_;
  std::int64_t bytes_max_;
  std::vector<Entry> entries_;  // oldest first
};

}  // namespace commensal::provider
