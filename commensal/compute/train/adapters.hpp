// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/train/checkpoint.hpp>
#include <memory>
#include <string>
#include <vector>

namespace commensal::train {

/// Weights W [out, ...] become W + scale * (B x A), with A [rank, all of ... multiplied] and
/// B [out, rank]; A and B are trained, W is not.
/// Source: Hu and others, LoRA: Low-Rank Adaptation of Large Language Models (2021).
struct Adapters {
  std::int64_t rank = 8;
  std::vector<std::string> weights;  // names and patterns; none: all of two dimensions or more
  double scale = 1;
  bool merges = true;  // whether an exported model has the sums in the place of W
};

/// A model in which nodes in front add its adapters.
struct Adapted {
  struct One {
    std::string weight;
    std::string a, b;                     // names of initialisers: WEIGHT.adapter.a and .b
    graph::ValueId sum = graph::kAbsent;  // what has taken the weight's place
  };
  std::shared_ptr<const graph::Graph> graph;
  std::size_t nodes = 0;  // that are in front
  std::vector<One> all;
};

/// A is drawn from streams of `seed` (between -1 and 1, by the square root of its columns), B is
/// 0: at first nothing changes. `inputs`: types of the model's.
/// Errors: kInvalidArgument (a name that is no such weight, a pattern that fits none, a rank that
/// is no less than a weight's own), kUnsupported (weights that are not float32 or float64).
core::Result<Adapted> with_adapters(const graph::Graph& model, const Adapters& adapters,
                                    const std::vector<tensor::TensorType>& inputs,
                                    const std::string& output, std::uint64_t seed);

/// The weights with their adapters added, for with_weights(). `trained` has A and B by name.
core::Result<std::vector<Checkpoint::Entry>> merged_weights(
    const Adapted& adapted, const std::vector<Checkpoint::Entry>& trained,
    const graph::SessionOptions& options);

}  // namespace commensal::train
