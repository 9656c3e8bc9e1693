// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/graph/program.hpp>
#include <mutex>

namespace commensal::graph {

/// What a run of a program writes its values and calls into: kept from run to run, so that a run
/// makes none anew. Thread-safety: one run at a time.
class Program::Frame {
 public:
  /// One node's call. Its pointers stay as they are for all runs.
  struct Step {
    /// Not null: inputs and outputs lie where they lie in every run, and all there is to do is to
    /// call it.
    kernels::KernelFn bound = nullptr;
    std::int64_t ops = -1;  // of work_of(); -1: not asked yet, or others in each run
    kernels::Call call;
    std::vector<tensor::Tensor> outputs;
    std::vector<const tensor::Tensor*> tensors;
    std::vector<const tensor::Value*> inputs;  // null: absent
    bool is_fixed = false;  // the outputs lie where they are in every run, of types known ahead
    kernels::Places coded;  // outputs that hold codes of strings

    /// Before the kernel runs: strings as such, not as the codes that it sees.
    void show_to(Tracer& tracer, const Node& node) const;
    /// Of one that is fixed, and inferred all the same: its inference looks at elements.
    core::Result<void> check_types() const;
  };

  /// `fixes`: whether small values may lie in memory of the frame's own, which the next run writes
  /// again.
  Frame(const Program& program, bool fixes);
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  tensor::Value& value(ValueId id) { return values_[static_cast<std::size_t>(id)]; }
  const Values& values() const { return values_; }
  Step& step(std::size_t node) { return steps_[node]; }
  /// Lets go what no node after `node` needs.
  void release(std::size_t node) {
    for (const ValueId id : released_[node]) value(id) = tensor::Value();
  }
  /// Lets go all that a run has left but constants.
  void clear();

 private:
  void fix(std::size_t node, const tensor::Tensor& memory);
  bool bind_inputs(std::size_t node);
  bool stays(ValueId id) const { return stays_[static_cast<std::size_t>(id)]; }
  void list_what_passes();

  const Program& program_;
  const Graph& graph_;
  Values values_;
  std::vector<bool> stays_;  // from run to run: constants, and what is fixed
  std::vector<Step> steps_;
  // Of what does not stay: what to let go after each node, all values, and the nodes that make
  // them or are inferred in each run.
  std::vector<std::vector<ValueId>> released_;
  std::vector<ValueId> passing_;
  std::vector<std::size_t> passing_nodes_;
};

/// Those of one program that no run has. Thread-safety: any thread.
class Program::Frames {
 public:
  /// One for the run that holds it.
  class Lease {
   public:
    /// `fixes`: as Frame's.
    Lease(const Program& program, bool fixes);
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    Frame& operator*() { return *frame_; }

   private:
    Frames& from_;
    const bool fixes_;
    std::unique_ptr<Frame> frame_;
  };

 private:
  std::mutex mutex_;
  std::array<std::vector<std::unique_ptr<Frame>>, 2> free_;  // those that fix nothing first
};

}  // namespace commensal::graph
