// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/ir.hpp>
#include <string>
#include <vector>

/// What of a model is trained. Thread-safety: any thread.
namespace commensal::train {

/// The floats among a model's initialisers that decide an output, of at least one dimension, but
/// the mean and variance of BatchNormalization: what is trained where nobody says otherwise.
core::Result<std::vector<std::string>> trained_weights(const graph::Graph& model,
                                                       const std::string& output);

/// Of `trained_weights`, in its order, those that a pattern fits ("fc.*": * stands for anything);
/// before them what is named without one, in the order of `named`, whatever initialiser it is.
/// Nothing twice. Error: kInvalidArgument (a pattern that fits none, a name of none).
core::Result<std::vector<std::string>> chosen_weights(const graph::Graph& model,
                                                      const std::string& output,
                                                      const std::vector<std::string>& named);

/// "a, b, c and 12 more": what there is, for who asked for something else.
std::string some_of(const std::vector<std::string>& names);

/// Whether `text` is what `pattern` says, in which * stands for anything, nothing too.
bool fits(std::string_view pattern, std::string_view text);

/// The initialiser of that name; kAbsent: there is none.
graph::ValueId initialiser_named(const graph::Graph& model, std::string_view name);
/// Its value; null: there is none.
const tensor::Tensor* initialiser_of(const graph::Graph& model, std::string_view name);

}  // namespace commensal::train
