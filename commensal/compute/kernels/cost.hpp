// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <limits>

/// What rows name in column `cost`: the steps of an output element, from the inputs' shapes.
namespace commensal::kernels::cost {

/// Of a convolution, W being input 1: its input channels times the taps, those in the padding
/// included.
inline std::int64_t taps(const Call& call) {
  const tensor::Shape& weights = call.in(1).shape();
  return weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
}

/// Of a determinant: of n rows, n times each below it.
inline std::int64_t elimination(const Call& call) {
  const tensor::Shape& shape = call.in(0).shape();
  const std::int64_t side = shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  std::int64_t steps = 0;
  const bool fits = !__builtin_mul_overflow(side, side, &steps) &&
                    !__builtin_mul_overflow(steps, side / 3 + 1, &steps);
  return fits ? steps : std::numeric_limits<std::int64_t>::max();
}

/// The length of the first input's rows.
inline std::int64_t row(const Call& call) {
  const tensor::Shape& shape = call.in(0).shape();
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

}  // namespace commensal::kernels::cost
