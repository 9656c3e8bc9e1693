// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <type_traits>

namespace commensal::noise {

/// What an element of any numeric type stands for; of wide integers the nearest double.
template <class T>
double number(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(tensor::to_float(value));
  }
}

}  // namespace commensal::noise
