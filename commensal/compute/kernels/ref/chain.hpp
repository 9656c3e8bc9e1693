// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/pulse.hpp>
#include <cstdint>
#include <type_traits>

/// The dot product of the specification: one accumulator, fused multiply-adds in ascending order.
namespace commensal::kernels::ref {

/// One step: a * b + acc, rounded once; integers wrap.
template <class T>
inline T step(T a, T b, T acc) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, acc);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b) + static_cast<U>(acc));
  }
}

/// The last step of every dot product: adds the bias, a bias of -0 counting as +0. Without one the
/// bias is +0.
template <class T>
inline T add_bias(T acc, T bias) {
  if constexpr (std::is_floating_point_v<T>) {
    return acc + (bias == T{0} ? T{0} : bias);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(acc) + static_cast<U>(bias));
  }
}

/// `count` steps over a[i * a_stride] and b[i * b_stride].
template <class T>
T chain(T acc, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
        std::int64_t count);

/// One step of `count` neighbouring accumulators: acc[i] = step(w, x[i * x_stride], acc[i]).
template <class T>
void step_row(T w, const T* x, std::int64_t x_stride, T* acc, std::int64_t count);

/// The same of two rows: acc[i] = step(a[i * a_stride], b[i * b_stride], acc[i]).
template <class T>
void step_pairs(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* acc,
                std::int64_t count);

/// The same with a pulse.
template <class T>
T chain(Pulse& pulse, T acc, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
        std::int64_t count) {
  constexpr std::int64_t kPiece = 1 << 14;
  for (std::int64_t i = 0; i < count; i += kPiece) {
    const std::int64_t part = std::min(kPiece, count - i);
    acc = chain(acc, a + i * a_stride, a_stride, b + i * b_stride, b_stride, part);
    pulse(part);
  }
  return acc;
}
template <class T>
void step_row(Pulse& pulse, T w, const T* x, std::int64_t x_stride, T* acc, std::int64_t count) {
  constexpr std::int64_t kPiece = 1 << 14;
  for (std::int64_t i = 0; i < count; i += kPiece) {
    const std::int64_t part = std::min(kPiece, count - i);
    step_row(w, x + i * x_stride, x_stride, acc + i, part);
    pulse(part);
  }
}

}  // namespace commensal::kernels::ref
