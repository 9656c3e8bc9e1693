// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Training as graphs: a step takes the state (weights, what the optimiser keeps, the number of the
/// step) and a batch, and makes the loss and the next state.
namespace commensal::train {

enum class LossKind {
  kCrossEntropy,  // of scores [N, C, ...] against classes (int64) [N, ...]; the mean
  kMeanSquare,    // of numbers against numbers of the same shape
  kValue,         // the output is the loss itself
};

struct Loss {
  LossKind kind = LossKind::kCrossEntropy;
  std::string output;  // of the model
  // Of kCrossEntropy: a class whose places count for nothing; and how much of the loss is the mean
  // over all classes, in the place of the right one alone.
  // Source of the latter: Szegedy and others, Rethinking the Inception Architecture (2015).
  std::optional<std::int64_t> ignored = std::nullopt;
  double smoothing = 0;
};

enum class OptimiserKind { kSgd, kMomentum, kAdamW, kNesterov, kAdagrad };

/// Sources: Loshchilov, Hutter, Decoupled Weight Decay Regularization (2019); Sutskever and others,
/// On the importance of initialization and momentum (2013); Duchi, Hazan, Singer, Adaptive
/// Subgradient Methods (2011).
struct Optimiser {
  OptimiserKind kind = OptimiserKind::kAdamW;
  double rate = 1e-3;
  // v' = momentum * v + g; kMomentum: w' = w - rate * v'; kNesterov: w - rate * (g + momentum * v')
  double momentum = 0.9;
  double beta1 = 0.9, beta2 = 0.999;  // kAdamW
  double epsilon = 1e-8;              // kAdamW; kAdagrad: w' = w - rate * g / (sqrt(v') + epsilon)
  double decay = 0;  // kAdamW: w' = w - rate * (... + decay * w); else g' = g + decay * w
  double clip = 0;   // the longest that all gradients together may be; 0: any length
};

/// The rate of step t, from 1: rises in a straight line over `warmup` steps, then stays, or falls
/// to `end` times itself at step `steps` (in a straight line, or by half a cosine).
struct Schedule {
  enum class Kind { kConstant, kLinear, kCosine };
  Kind kind = Kind::kConstant;
  double warmup = 0, end = 0;
};

/// Of the values of the way forward that the way back wants: those that are let go, and made again
/// when they are wanted. Changes no bit; takes time, and gives memory.
struct Recompute {
  bool all = false;                     // but those at the borders of about sqrt(nodes) segments
  std::vector<std::string> names = {};  // or these
};

struct StepRequest {
  std::vector<tensor::TensorType> inputs;  // of the model's inputs, a batch of each
  tensor::TensorType target;               // not of LossKind::kValue
  Loss loss;
  std::vector<std::string> weights;
  Optimiser optimiser;
  Schedule schedule;
  std::int64_t steps = 1;  // that the schedule goes by
  /// The batch is taken in so many parts, one after another, whose losses and gradients are added
  /// from the first on and divided by how many they are.
  std::int64_t accumulate = 1;
  Recompute recompute = {};
};

/// A step as one graph. Its inputs: those of the model, the target (but of LossKind::kValue), then
/// the state; its outputs: the loss, then the next state. `state` has names and types, in order:
/// weights, then what the optimiser keeps of each, then the number of steps that are done
/// (float32, exact up to 2^24).
struct Step {
  std::shared_ptr<const graph::Graph> graph;
  struct Entry {
    std::string name;
    tensor::TensorType type;
  };
  std::vector<Entry> state;
  std::size_t batch_inputs = 0;  // inputs before the state
  std::int64_t classes = 0;      // of LossKind::kCrossEntropy
};

/// Errors, one line: those of grad::with_gradients; kInvalidArgument (no such output, a target that
/// does not fit, a batch that cannot be divided).
/// Thread-safety: any thread.
core::Result<Step> make_step(const graph::Graph& model, const StepRequest& request);

}  // namespace commensal::train
