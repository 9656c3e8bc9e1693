// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace commensal::graph::onnx {

/// A piece of a mapped file, or of memory that somebody owns.
struct Extent {
  core::ByteView bytes;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const core::MappedFile> file = nullptr;  // the owner, if it is one
};

/// Tensor data that a model keeps in files beside it, mapped once each. A model names files of its
/// own folder or below; nothing else is opened, whatever it names.
class ExternalFiles {
 public:
  /// For a model without a folder: every request is refused.
  ExternalFiles() = default;
  explicit ExternalFiles(core::Path folder) : folder_(std::move(folder)) {}

  /// `entries` as in TensorProto.external_data: location, offset (default 0), length (default: the
  /// rest). Errors: kPermissionDenied (outside the folder), kNotFound, kInvalidArgument.
  core::Result<Extent> map(const std::map<std::string, std::string>& entries);

 private:
  core::Result<std::shared_ptr<const core::MappedFile>> open(const std::string& location);

  std::optional<core::Path> folder_;
  std::map<std::string, std::shared_ptr<const core::MappedFile>> files_;
};

}  // namespace commensal::graph::onnx
