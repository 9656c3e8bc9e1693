// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// What rows name in column `cost`: the steps of an output element, from the inputs' shapes.
namespace commensal::kernels::cost {

/// Of a convolution, W being input 1: its input channels times the taps, those in the padding
/// included.
inline std::int64_t taps(const Call& call) {
  const tensor::Shape& weights = call.in(1).shape();
  return weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
}

/// The length of the first input's rows.
inline std::int64_t row(const Call& call) {
  const tensor::Shape& shape = call.in(0).shape();
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

}  // namespace commensal::kernels::cost
