// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/program.hpp>
#include <memory>
#include <mutex>
#include <vector>

namespace commensal::graph {

/// A model with all that its sessions share: packed weights, and a program for each combination of
/// input types that was asked for lately. Who asks for one that is there waits for no other.
/// Thread-safety: any thread.
class Prepared {
 public:
  /// No `isa`: ref/ serves.
  /// `packs`: where packed weights are kept for other processes; null: nowhere.
  /// `memory_bytes_max`: more than it, and than FoldBudget, no plan has of what is computed ahead.
  Prepared(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
           std::shared_ptr<const PackFolder> packs = nullptr,
           std::int64_t memory_bytes_max = limits::kMemoryBytesDefault)
      : graph_(std::move(graph)),
        isa_(isa),
        cache_(std::make_shared<PackCache>(std::move(packs))),
        memory_bytes_max_(memory_bytes_max) {}
  /// A graph inside one of a model, with whose packed weights its own are kept. It is planned for
  /// the first combinations of types only, as far as all of a model's may be: a loop may have
  /// others in every turn.
  Prepared(std::shared_ptr<const Graph> graph, std::optional<kernels::Isa> isa,
           std::shared_ptr<PackCache> cache)
      : graph_(std::move(graph)), isa_(isa), cache_(std::move(cache)), is_inner_(true) {}
  /// Another graph over the weights of `model`, whose packed weights it shares: with more outputs,
  /// or with a part of the nodes.
  Prepared(std::shared_ptr<const Graph> graph, const Prepared& model)
      : graph_(std::move(graph)),
        isa_(model.isa_),
        cache_(std::make_shared<PackCache>(std::shared_ptr<const PackCache>(model.cache_))),
        memory_bytes_max_(model.memory_bytes_max_) {}

  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  const Graph& graph() const { return *graph_; }
  std::optional<kernels::Isa> isa() const { return isa_; }
  /// How many are kept packed at present.
  std::size_t packed_constants() const { return cache_->size(); }
  /// Of what the plans that are kept have computed ahead.
  std::int64_t folded_bytes();

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
  /// What is taken of what the cache's inner_plans() may have, until it is let go.
  class Share {
   public:
    explicit Share(std::shared_ptr<PackCache> cache) : cache_(std::move(cache)) {}
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share() { give_back(); }
    void take(std::int64_t nodes, const optimise::FoldBudget& folded);
    void give_back() { take(-nodes_, {-ops_, -bytes_}); }

   private:
    const std::shared_ptr<PackCache> cache_;
    std::int64_t nodes_ = 0, ops_ = 0, bytes_ = 0;
  };
  /// A program that is made once, by who asks first; `mutex` is held meanwhile. Who is stopped
  /// leaves it to nobody: there is another one for the next.
  struct Plan {
    Plan(std::vector<tensor::TensorType> types, std::shared_ptr<PackCache> cache)
        : inputs(std::move(types)), share(std::move(cache)) {}
    const std::vector<tensor::TensorType> inputs;
    std::timed_mutex mutex;
    std::shared_ptr<const Program> program;  // guarded by mutex, as are the others
    Share share;
    std::int64_t folded_bytes = 0;
  };

  /// Keeps a plan that its maker is done with, if it was made, and lets go of what is too much.
  class Settling {
   public:
    Settling(Prepared& all, std::shared_ptr<Plan> plan) : all_(all), plan_(std::move(plan)) {}
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;
    ~Settling();

   private:
    Prepared& all_;
    const std::shared_ptr<Plan> plan_;
  };

  std::shared_ptr<Plan> find(const std::vector<tensor::TensorType>& inputs);
  bool is_pending(const std::shared_ptr<Plan>& plan);
  ProgramResult make(Plan& plan, const kernels::ThreadPool* host);
  std::shared_ptr<const Graph> optimised(Plan& plan, const kernels::ThreadPool* host) const;
  std::int64_t folded_bytes_max() const;  // of a plan
  bool are_too_many() const;

  const std::shared_ptr<const Graph> graph_;
  const std::optional<kernels::Isa> isa_;
  const std::shared_ptr<PackCache> cache_;
  const std::int64_t memory_bytes_max_ = limits::kMemoryBytesDefault;
  const bool is_inner_ = false;
  Plan plain_{{}, cache_};

  // Guarded by mutex_, under which nothing is made.
  std::mutex mutex_;
  using Plans = std::vector<std::shared_ptr<Plan>>;
  static std::int64_t folded_by(const Plans& plans);
  Plans plans_;    // the most recently used first
  Plans pending_;  // those that are being made
};

}  // namespace commensal::graph
