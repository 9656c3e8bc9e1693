// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <string_view>
#include <vector>

/// The activation functions of RNN, GRU and LSTM.
namespace commensal::kernels::ref {

struct Activation {
  float (*function)(float x, float alpha, float beta) = nullptr;
  float alpha = 0, beta = 0;
  float operator()(float x) const { return function(x, alpha, beta); }
};

/// Those that the attributes name for all directions, one direction after another, or `usual` for
/// each direction. activation_alpha and activation_beta are consumed in order by the functions
/// that have such a parameter. Error: kInvalidArgument or kUnsupported, naming the attribute.
core::Result<std::vector<Activation>> activations_of(const Call& call, std::int64_t directions,
                                                     const std::vector<std::string>& usual);

}  // namespace commensal::kernels::ref
