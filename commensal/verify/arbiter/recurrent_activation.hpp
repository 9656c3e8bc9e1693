// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/operators.hpp>

/// The activation functions of RNN, GRU and LSTM. Inside this room only.
namespace commensal::arbiter {

struct Activation {
  Operand (*function)(const Emitter&, Operand x, Operand alpha, Operand beta) = nullptr;
  std::uint32_t alpha = 0, beta = 0;
  Operand operator()(const Emitter& emit, Operand x) const {
    return function(emit, x, constant(alpha), constant(beta));
  }
};

/// Those that the attributes name for all directions, one direction after another, `each` for one;
/// by default Sigmoid, then Tanh (of RNN, which has one, Tanh). Nothing where one is not known.
std::optional<std::vector<Activation>> activations_of(const NodeText& node, std::int64_t directions,
                                                      std::size_t each);

}  // namespace commensal::arbiter
