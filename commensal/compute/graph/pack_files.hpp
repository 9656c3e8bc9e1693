// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <optional>

namespace commensal::graph {

/// Where a PackFolder's files are, by their names. Thread-safety: that of whoever implements it.
class PackFiles {
 public:
  struct File {
    core::Descriptor file;  // to be read
    std::size_t bytes = 0;
  };

  virtual ~PackFiles() = default;
  /// Nothing: it is not there. What is in it is for the caller to check.
  virtual std::optional<File> open(const core::Digest& name) = 0;
  /// In the place of one of that name. Where nothing can be written nothing is kept.
  virtual void keep(const core::Digest& name, std::span<const core::ByteView> parts) = 0;
  /// Those go whose names have the same first half, as far as it is for this object to remove any.
  virtual void remove_all_like(const core::Digest& /*name*/) {}
};

/// Of one model, among all: names are hashed under the model's, so that none can give another
/// packed weights, and their first halves are the model's alone, by which they are found when it
/// goes. Thread-safety: that of all.
class PackFilesOfModel final : public PackFiles {
 public:
  /// `model`: SHA-256 of its file.
  PackFilesOfModel(std::shared_ptr<PackFiles> all, const core::Digest& model)
      : all_(std::move(all)), model_(model) {}
  std::optional<File> open(const core::Digest& name) override { return all_->open(name_of(name)); }
  void keep(const core::Digest& name, std::span<const core::ByteView> parts) override {
    all_->keep(name_of(name), parts);
  }
  void remove_all() { all_->remove_all_like(name_of({})); }

 private:
  core::Digest name_of(const core::Digest& name) const;

  const std::shared_ptr<PackFiles> all_;
  const core::Digest model_;
};

/// In a folder, which is made if it is missing. Files are replaced whole; beyond `bytes_max` those
/// that were used longest ago go. Thread-safety: any thread; other processes may use the folder.
class PackFilesInFolder final : public PackFiles {
 public:
  PackFilesInFolder(core::Path folder, std::int64_t bytes_max);
  std::optional<File> open(const core::Digest& name) override;
  void keep(const core::Digest& name, std::span<const core::ByteView> parts) override;
  void remove_all_like(const core::Digest& name) override;

 private:
  core::Path path_of(const core::Digest& name) const;
  void make_room() const;

  const core::Path folder_;
  const std::int64_t bytes_max_;
};

}  // namespace commensal::graph
