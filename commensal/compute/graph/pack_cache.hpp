// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <map>
#include <memory>
#include <vector>

namespace commensal::graph {

/// Constants that are packed already, shared by the programs of one model: they differ in the
/// shapes of their inputs, not in their weights. Thread-safety: none.
class PackCache {
 public:
  /// `folder`: where large ones are kept for other processes too; null: nowhere.
  explicit PackCache(std::shared_ptr<const PackFolder> folder = nullptr)
      : folder_(std::move(folder)) {}

  /// What the row's `pack` makes of these constants, made once.
  core::Result<std::shared_ptr<const kernels::Packed>> packed(const Node& node,
                                                              const kernels::Call& call,
                                                              kernels::Isa isa);

 private:
  struct Entry {
    const kernels::Operator* op;
    kernels::Attributes attributes;
    std::vector<tensor::Tensor> constants;  // by place; undefined where there is none
    std::shared_ptr<const kernels::Packed> made;
  };
  core::Result<std::shared_ptr<const kernels::Packed>> pack(const Node& node, kernels::Call call,
                                                            kernels::Isa isa) const;
  static bool same(const Entry& entry, const Node& node, const kernels::Call& call);
  std::shared_ptr<const PackFolder> folder_;
  std::multimap<const void*, Entry> entries_;  // by where the first constant lies
};

}  // namespace commensal::graph
