// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>

namespace commensal::tensor {

/// A tensor that has a type and no elements: for whoever asks for the type only. Reading elements
/// is undefined.
inline Tensor stand_in(const TensorType& type) {
  constexpr const std::uint8_t* kNowhere = nullptr;
  return Tensor::view_of(type, {kNowhere, static_cast<std::size_t>(type.bytes())}, nullptr);
}

}  // namespace commensal::tensor
