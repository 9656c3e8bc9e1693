// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/tensor/arena.hpp>
#include <optional>
#include <span>
#include <vector>

namespace commensal::graph {

/// Which values are made where a Concat wants them: those that follow each other in its output lie
/// side by side from the first on, so that nothing is left to copy. A Concat whose inputs are the
/// beginning of another's (as in DenseNet) shares its memory. Small values lie in one piece of
/// memory, which is asked for once a run.
/// What is planned are hints: at run time a value of another type than declared lies elsewhere,
/// and a Concat whose inputs do not lie as planned copies them.
/// Thread-safety: immutable after construction.
class InPlace {
 public:
  explicit InPlace(const Graph& graph);

  /// How long the memory of all small values is, and where in it one of them begins. None of them
  /// outlives a run, but in the hands of a tracer.
  std::int64_t small_bytes() const { return small_bytes_; }
  std::optional<std::int64_t> small_place(ValueId id) const {
    const Place* const place = place_of(id);
    const bool is_small = place != nullptr && small_bytes_ > 0 && place->joint == small_joint_;
    return is_small ? std::optional(place->begin) : std::nullopt;
  }

  /// The memory of one run. Thread-safety: one thread at a time.
  class Memory {
   public:
    /// `given`: where outputs of the graph shall lie, in their order; or nothing.
    Memory(const InPlace& plan, tensor::Arena& arena, const std::vector<ValueId>& outputs,
           std::span<const tensor::Tensor> given)
        : plan_(plan),
          arena_(arena),
          joints_(plan.joint_bytes_.size()),
          outputs_(outputs),
          given_(given) {}

    /// As kernels::allocate_outputs, each where the plan has it. Error: kResourceExhausted.
    core::Result<void> allocate(const Node& node, const kernels::Call& call,
                                std::vector<tensor::Tensor>& outputs);
    /// The output of Concat `node`, of `type`, if `inputs` lie side by side already.
    std::optional<tensor::Tensor> joined(const Node& node, const tensor::TensorType& type,
                                         std::span<const tensor::Tensor* const> inputs) const;
    /// Lets go what nobody will be placed in after node `index`.
    void release(std::size_t index) {
      for (const std::size_t joint : plan_.released_[index]) joints_[joint] = tensor::Tensor();
    }

   private:
    core::Result<tensor::Tensor> allocate(ValueId id, const tensor::TensorType& type);
    const tensor::Tensor* given(ValueId id, const tensor::TensorType& type) const;

    const InPlace& plan_;
    tensor::Arena& arena_;
    std::vector<tensor::Tensor> joints_;  // bytes
    const std::vector<ValueId>& outputs_;
    const std::span<const tensor::Tensor> given_;
  };

 private:
  struct Place {
    std::size_t joint = 0;
    std::int64_t begin = 0;
    std::int64_t bytes = 0;
    bool is_joined = false;  // of what lies there already: nothing is written
  };
  std::optional<Place>& place(ValueId id) { return places_[static_cast<std::size_t>(id)]; }
  const Place* place_of(ValueId id) const;
  void plan(const Graph& graph, const Node& concat);
  void plan_small(const Graph& graph, const std::vector<bool>& is_made);
  void find_last_uses(const Graph& graph);

  std::vector<std::optional<Place>> places_;  // by ValueId
  std::vector<std::int64_t> joint_bytes_;
  std::size_t small_joint_ = 0;
  std::int64_t small_bytes_ = 0;
  std::vector<std::vector<std::size_t>> released_;  // joints, by node
};

}  // namespace commensal::graph
