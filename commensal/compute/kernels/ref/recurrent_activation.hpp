// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <string_view>
#include <vector>

/// The activation functions of RNN, GRU and LSTM.
namespace commensal::kernels::ref {

enum class ActivationKind {
  kAffine,
  kElu,
  kHardSigmoid,
  kLeakyRelu,
  kRelu,
  kScaledTanh,
  kSigmoid,
  kSoftplus,
  kSoftsign,
  kTanh,
  kThresholdedRelu
};

struct Activation {
  float (*function)(float x, float alpha, float beta) = nullptr;
  float alpha = 0, beta = 0;
  ActivationKind kind = ActivationKind::kTanh;
  float operator()(float x) const { return function(x, alpha, beta); }
};

/// Those that the attributes name for all directions, one direction after another, or what is usual
/// for cells of so many gates (RNN: 1, GRU: 3, LSTM: 4). activation_alpha and activation_beta are
/// consumed in order by the functions that have such a parameter. Error: kInvalidArgument or
/// kUnsupported, naming the attribute.
core::Result<std::vector<Activation>> activations_of(const Call& call, std::int64_t directions,
                                                     std::int64_t gates);

}  // namespace commensal::kernels::ref
