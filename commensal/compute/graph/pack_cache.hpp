// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <map>
#include <memory>
#include <vector>

namespace commensal::graph {

/// Constants that are packed already, shared by the programs of one model: they differ in the
/// shapes of their inputs, not in their weights. Thread-safety: none.
class PackCache {
 public:
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
  static bool same(const Entry& entry, const Node& node, const kernels::Call& call);
  std::multimap<const void*, Entry> entries_;  // by where the first constant lies
};

}  // namespace commensal::graph
