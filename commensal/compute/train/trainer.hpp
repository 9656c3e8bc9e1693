// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/train/checkpoint.hpp>
#include <commensal/compute/train/evaluation.hpp>
#include <commensal/compute/train/plan.hpp>
#include <optional>
#include <span>

namespace commensal::train {

/// A model and what of it is trained.
struct Trained {
  std::shared_ptr<const graph::Graph> graph;  // with its adapters
  std::vector<std::string> weights;
  std::optional<Adapted> adapted;
};

/// A training on this machine: the step graph, run again and again. The same plan, model and data
/// give the same bits of every weight, on every back end and number of threads, and whether it was
/// interrupted and resumed or not.
/// Thread-safety: none.
class Trainer {
 public:
  /// Reads model and data, and goes on from the plan's checkpoint where there is one.
  /// Errors, one line each: those of what it reads, with the file's name; kFailedPrecondition (a
  /// checkpoint of another training or of another numerics version), kInvalidArgument (data that
  /// does not fit the model, fewer samples than a batch), kUnsupported (an operator without a
  /// gradient).
  static core::Result<Trainer> create(const Plan& plan, const graph::SessionOptions& options);

  std::int64_t done() const { return state_.step; }
  const std::vector<float>& losses() const { return state_.losses; }
  /// One step; at the plan's steps a checkpoint, replaced as a whole.
  /// Errors: kFailedPrecondition (the loss is not finite; weights are not when a checkpoint is to
  /// be written: what there was stays), those of a run and of a write.
  core::Result<void> step();
  /// On held-out samples, now; step() does so every so many steps and at the last one. For nothing
  /// where the plan has none, or where it has been done. Errors: those of Evaluation::run.
  core::Result<void> evaluate();
  const std::vector<Checkpoint::HeldOut>& held_out() const { return state_.held_out; }
  /// Writes a checkpoint now, if the plan has one; weights that are not finite are an error always.
  core::Result<void> save() const;

  /// Goes on from a state that was made or kept elsewhere. Errors: kInvalidArgument (not of this
  /// training's entries, more steps than the plan has), kFailedPrecondition (not finite).
  core::Result<void> take(Checkpoint state);
  /// Of a state that was taken: its first `steps` steps are known to be right, as those made here.
  void confirm(std::int64_t steps);
  /// Evaluates and writes a checkpoint where step() would have since `before` steps were done.
  core::Result<void> keep_up(std::int64_t before);
  const Checkpoint& checkpoint() const { return state_; }

  /// What it consists of, for who runs it elsewhere (segment.hpp).
  const Plan& plan() const { return plan_; }
  const Step& step_graph() const { return step_; }
  const std::vector<tensor::Tensor>& data() const { return data_.arrays; }

  /// Whose the state is: numerics version, model, data, all settings but how many steps, unless the
  /// schedule goes by them.
  const core::Digest& training() const { return state_.training; }
  /// SHA-256 of all weights, in order.
  core::Digest weights_digest() const;
  const std::vector<Checkpoint::Entry>& state() const { return state_.state; }
  std::size_t weights() const { return weights_; }  // how many of the state are
  /// Of a step: elements of the first input of integers [samples, ...]; 0: there is none.
  std::int64_t tokens() const;
  /// The model's file with these weights, which must be finite, in the place of its own; adapters
  /// are added to them, or there as nodes.
  core::Result<core::Bytes> exported() const;

 private:
  struct Batch {
    std::vector<tensor::Tensor> arrays;  // in the order of the step's inputs
  };
  Trainer(const Plan& plan, const graph::SessionOptions& options, Step step, graph::Session session,
          Batch data, Order order)
      : plan_(plan),
        options_(options),
        step_(std::move(step)),
        session_(std::move(session)),
        data_(std::move(data)),
        order_(std::move(order)) {}
  static core::Result<void> check_finite(const Checkpoint& checkpoint);
  core::Result<void> begin(const Trained& model, const core::Digest& training);
  core::Result<void> resume();
  std::span<const Checkpoint::Entry> trained() const {
    return std::span(state_.state).first(weights_);
  }

  Plan plan_;
  graph::SessionOptions options_;
  Step step_;
  graph::Session session_;
  Batch data_;
  Order order_;
  Checkpoint state_;
  std::size_t weights_ = 0;
  std::optional<Adapted> adapted_;
  std::optional<Evaluation> held_out_;
};

/// A model's file in which initialisers have other elements. Errors: kUnsupported (weights in other
/// files), kInvalidArgument (no such initialiser).
core::Result<core::Bytes> with_weights(core::ByteView model,
                                       const std::vector<Checkpoint::Entry>& weights);

/// A model's file in which nodes in front add adapters to its weights. Errors: kUnsupported
/// (weights in other files or made by nodes, opsets below 7).
core::Result<core::Bytes> with_adapter_nodes(core::ByteView model, const Adapted& adapted,
                                             double scale,
                                             const std::vector<Checkpoint::Entry>& trained);

}  // namespace commensal::train
