// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/program.hpp>
#include <deque>
#include <memory>
#include <mutex>

namespace commensal::graph {

/// A model with all that its sessions share: packed weights, and a program for each combination of
/// input types that was asked for lately.
/// Thread-safety: any thread.
class Prepared {
 public:
  /// No `isa`: ref/ serves.
  /// `packs`: where packed weights are kept for other processes; null: nowhere.
  Prepared(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
           std::shared_ptr<const PackFolder> packs = nullptr)
      : graph_(std::move(graph)),
        isa_(isa),
        cache_(std::make_shared<PackCache>(std::move(packs))) {}
  /// A graph inside one of a model, with whose packed weights its own are kept. It is
  /// planned for the first combinations of types only, as far as all of a model's may be: a loop
  /// may have others in every turn.
  Prepared(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
           std::shared_ptr<PackCache> cache)
      : graph_(std::move(graph)), isa_(isa), cache_(std::move(cache)), is_inner_(true) {}
  /// Another graph over the weights of `model`, whose packed weights it shares: with more outputs,
  /// or with a part of the nodes.
  Prepared(std::shared_ptr<const Graph> graph, const Prepared& model)
      : graph_(std::move(graph)),
        isa_(model.isa_),
        cache_(std::make_shared<PackCache>(std::shared_ptr<const PackCache>(model.cache_))) {}

  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared();

  const Graph& graph() const { return *graph_; }
  std::optional<kernels::Isa> isa() const { return isa_; }
  /// How many are kept packed at present.
  std::size_t packed_constants() const { return cache_->size(); }

  using ProgramResult = core::Result<std::shared_ptr<const Program>>;
  /// Node by node as the model has it. Error: what `pack` refuses.
  /// `host`: a pool that long work yields to, and that may throw Stopped; null: none.
  ProgramResult plain(const kernels::ThreadPool* host = nullptr);
  /// Optimised for inputs of these types; the plain one where nothing can be planned.
  ProgramResult planned(const std::vector<tensor::TensorType>& inputs,
                        const kernels::ThreadPool* host = nullptr);

  /// planned() where all are tensors of numbers, else plain().
  ProgramResult for_inputs(std::span<const tensor::Value> inputs, const kernels::ThreadPool* host);

 private:
  std::shared_ptr<const Graph> optimised_locked(const std::vector<tensor::TensorType>& inputs,
                                                const kernels::ThreadPool* host);
  void charge(std::int64_t nodes, std::int64_t ops);
  ProgramResult plain_locked(const kernels::ThreadPool* host);

  const std::shared_ptr<const Graph> graph_;
  const std::optional<kernels::Isa> isa_;
  const std::shared_ptr<PackCache> cache_;
  const bool is_inner_ = false;

  // Guarded by mutex_.
  std::mutex mutex_;
  std::shared_ptr<const Program> plain_;
  struct Planned {
    std::vector<tensor::TensorType> inputs;
    std::shared_ptr<const Program> program;
  };
  std::deque<Planned> planned_;       // the latest first
  std::int64_t nodes_ = 0, ops_ = 0;  // taken from what the cache's inner_plans() may have
};

}  // namespace commensal::graph
