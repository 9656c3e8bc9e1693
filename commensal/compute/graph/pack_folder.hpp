// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/pack_files.hpp>
#include <memory>

namespace commensal::graph {

/// A folder of large packed constants, one file each, named by all that decides on its content:
/// SHA-256 of operator, attributes, constants, instruction set and versions. Files are replaced
/// whole, mapped read-only and checked when they are found; one that is cut or altered is made
/// again. Where nothing can be written nothing is kept, and nobody is told. The check is
/// against accidents: who may write to the folder decides what is computed, so it must be its
/// user's alone.
/// Thread-safety: any thread; other processes may use the same folder.
class PackFolder {
 public:
  /// Made if it is missing. Beyond `bytes_max` the files that were used longest ago go.
  explicit PackFolder(core::Path folder, std::int64_t bytes_max = limits::kPackFolderBytesMax);
  /// Files that are somewhere else.
  explicit PackFolder(std::shared_ptr<PackFiles> files) : files_(std::move(files)) {}

  /// For one call of the row's `pack`, with these constants; null where they are so small that
  /// packing them is nothing. Node, call and folder must outlive it.
  std::unique_ptr<kernels::PackStore> store_for(const Node& node, const kernels::Call& call,
                                                kernels::Isa isa) const;
  const std::shared_ptr<PackFiles>& files() const { return files_; }

 private:
  class Store;

  std::shared_ptr<PackFiles> files_;
};

}  // namespace commensal::graph
