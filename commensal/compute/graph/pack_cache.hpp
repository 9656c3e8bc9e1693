// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/pack_folder.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace commensal::graph {

/// Constants that are packed already, shared by the programs of one model: they differ in the
/// shapes of their inputs, not in their weights. Thread-safety: any thread.
class PackCache {
 public:
  /// `folder`: where large ones are kept for other processes too; null: nowhere.
  explicit PackCache(std::shared_ptr<const PackFolder> folder = nullptr)
      : folder_(std::move(folder)) {}
  /// For other graphs over a model's weights: finds what `model` has, and keeps for itself what
  /// that has not.
  explicit PackCache(std::shared_ptr<const PackCache> model)
      : folder_(model->folder_), model_(std::move(model)) {}

  /// What the graphs inside a model's nodes may still be planned for, all of them together: loops
  /// in loops would keep plans without end.
  struct InnerPlans {
    std::atomic<std::int64_t> nodes_left = limits::kPlannedInnerNodesMax;
    std::atomic<std::int64_t> ops_left = limits::kFoldedInnerOpsMax;
    std::atomic<std::int64_t> bytes_left = limits::kFoldedInnerTotalBytesMax;
  };
  InnerPlans& inner_plans() { return inner_plans_; }
  /// Bytes that the frames of all of a model's programs may still keep in memos.
  std::atomic<std::int64_t>& memo_bytes_left() { return memo_bytes_left_; }

  using PackedResult = core::Result<std::shared_ptr<const kernels::Packed>>;
  /// What the row's `pack` makes of these constants, made once; where only the row's `packs` are
  /// those of another node, the large part of it.
  PackedResult packed(const Node& node, const kernels::Call& call, kernels::Isa isa);
  /// Lets go what no program uses any more: constants folded for other shapes above all.
  void drop_unused();
  std::size_t size() const;

 private:
  struct Entry {
    const kernels::Operator* op;
    kernels::Attributes attributes;
    std::vector<tensor::Tensor> constants;  // by place; undefined where there is none
    std::shared_ptr<const kernels::Packed> made;
  };
  /// What lies here or in the model's cache, like this one in all or in the row's `packs`.
  std::optional<std::shared_ptr<const kernels::Packed>> find(const Entry& entry, bool in_all) const;
  PackedResult pack(const Node& node, kernels::Call call, kernels::Isa isa) const;

  const std::shared_ptr<const PackFolder> folder_;
  const std::shared_ptr<const PackCache> model_;  // null: this is the model's
  InnerPlans inner_plans_;
  std::atomic<std::int64_t> memo_bytes_left_ = limits::kMemoBytesMax;
  mutable std::mutex mutex_;
  std::multimap<const void*, Entry> entries_;  // by where the first constant lies; of mutex_
};

}  // namespace commensal::graph
