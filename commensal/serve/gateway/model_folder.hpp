// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace commensal::gateway {

/// The files of models, by content: <sha256>.onnx. One that is pinned is not taken away: who pushes
/// it again may have found it there. Thread-safety: any thread; remove_retired() and keep() of one
/// content may meet.
class ModelFolder {
 public:
  using Pin = std::shared_ptr<const void>;

  explicit ModelFolder(core::Path folder) : folder_(std::move(folder)) {}

  core::Path path_of(const core::Digest& content) const;
  Pin pin(const core::Digest& content) const;
  /// Has the file there, durable; one that is there and damaged is written anew. May take seconds.
  /// Error: kDataLoss.
  core::Result<void> keep(const core::Digest& content, core::ByteView bytes) const;
  /// Takes the file off its name, which is quick; false: it is pinned.
  bool retire(const core::Digest& content) const;
  /// Takes its bytes off the disk, which may be long.
  void remove_retired(const core::Digest& content) const;
  /// The files there are; what an earlier process had not finished goes. Before anything is kept.
  /// Error: kDataLoss.
  core::Result<std::vector<core::Digest>> list() const;

 private:
  struct Pins {
    std::mutex mutex;
    std::multiset<core::Digest> contents;
  };

  core::Path folder_;
  std::shared_ptr<Pins> pins_ = std::make_shared<Pins>();
};

}  // namespace commensal::gateway
