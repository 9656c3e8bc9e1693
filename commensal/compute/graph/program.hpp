// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/bodies.hpp>
#include <commensal/compute/graph/in_place.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <commensal/compute/graph/pack_cache.hpp>
#include <commensal/compute/graph/run_control.hpp>
#include <memory>
#include <optional>
#include <vector>

namespace commensal::graph {

/// What a run uses: the same for a graph and all graphs inside it.
struct Machine {
  tensor::Arena& arena;
  kernels::ThreadPool& threads;
  Tracer* tracer;  // sees the nodes of subgraphs too, each time they run
  RunControl& control;
  std::int64_t& node_runs_left;  // loops in loops end here
};

class Prepared;

/// A graph made ready for one instruction set: constants packed, the last use of every value
/// known, the graphs inside it likewise. Any number of runs at a time, from any thread.
class Program {
 public:
  /// A planned graph declares the types of all values that it knows: they are relied on. The graphs
  /// inside it are planned too: at once where their inputs' types are known, else when they first
  /// run. Others run as they are.
  enum class Form { kAsItIs, kPlanned };
  static core::Result<Program> make(std::shared_ptr<const Graph> graph,
                                    std::optional<kernels::Isa> isa,
                                    const std::shared_ptr<PackCache>& cache, Form form,
                                    const kernels::ThreadPool* host = nullptr);
  Program(Program&&) noexcept;
  ~Program();

  const Graph& graph() const { return *graph_; }

  /// `inputs` in the order of graph().inputs, checked by the caller; returns the outputs in order.
  /// `places`: tensors to be written in which the outputs shall lie, in order, or nothing; one that
  /// is made elsewhere all the same (a value that a Concat wants) lies there.
  /// Errors name the node.
  core::Result<std::vector<tensor::Value>> run(std::vector<tensor::Value> inputs,
                                               const Machine& machine,
                                               std::span<const tensor::Tensor> places = {}) const;

 private:
  class NodeSubgraphs;
  class Frame;
  class Frames;
  using Values = std::vector<tensor::Value>;

  Program(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa, Form form,
          std::shared_ptr<PackCache> cache);
  kernels::KernelFn kernel_of(std::size_t node) const;
  std::vector<tensor::TensorType> types_ahead(const Node& node) const;
  core::Result<void> prepare_inner(const std::shared_ptr<PackCache>& cache,
                                   const kernels::ThreadPool* host);
  core::Result<void> pack_constants(PackCache& cache, const kernels::ThreadPool* host);
  core::Result<std::shared_ptr<const Program>> inner_for(std::size_t node, std::size_t subgraph,
                                                         const Values& inputs,
                                                         const Machine& machine) const;
  core::Result<void> run_node(std::size_t index, Frame& frame, InPlace::Memory& memory,
                              const Machine& machine) const;
  core::Result<void> run_on_values(std::size_t index, Frame& frame, const Machine& machine) const;
  core::Result<void> run_kernel(std::size_t index, Frame& frame, InPlace::Memory& memory,
                                const Machine& machine) const;
  core::Result<void> check_planned(const Node& node, std::size_t output,
                                   const tensor::Value& made) const;
  core::Result<void> run_call(std::size_t index, Frame& frame, InPlace::Memory& memory,
                              const Machine& machine) const;
  core::Result<void> begin(std::size_t index, Frame& frame, const Machine& machine) const;
  core::Result<void> call(kernels::KernelFn kernel, std::size_t index, Frame& frame,
                          const Machine& machine) const;

  std::shared_ptr<const Graph> graph_;
  std::optional<kernels::Isa> isa_;  // none: ref/ serves
  Form form_;
  std::shared_ptr<PackCache> cache_;            // outlives the frames
  Types declared_;                              // of all values
  std::vector<std::vector<ValueId>> released_;  // after each node
  InPlace in_place_;
  std::vector<std::shared_ptr<const kernels::Packed>> packed_;
  /// Of each node whose output types are known and depend on nothing but the types of its inputs;
  /// empty for others, whose inference checks elements too.
  std::vector<std::vector<tensor::TensorType>> inferred_;
  std::vector<std::vector<std::unique_ptr<Prepared>>> inner_;  // of each node's subgraphs
  std::unique_ptr<Frames> frames_;
};

}  // namespace commensal::graph
