// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/wide.hpp>

namespace commensal::kernels::ref {
namespace {

template <class T>
T chain_body(T acc, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
             std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) acc = step(a[i * a_stride], b[i * b_stride], acc);
  return acc;
}

template <class T>
void row_body(T w, const T* x, std::int64_t x_stride, T* acc, std::int64_t count) {
  if (x_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = step(w, x[i], acc[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = step(w, x[i * x_stride], acc[i]);
  }
}

template <class T>
void pairs_body(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* acc,
                std::int64_t count) {
  if (a_stride == 1 && b_stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) acc[i] = step(a[i], b[i], acc[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      acc[i] = step(a[i * a_stride], b[i * b_stride], acc[i]);
    }
  }
}

}  // namespace

template <class T>
T chain(T acc, const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
        std::int64_t count) {
  return wide([&] { return chain_body(acc, a, a_stride, b, b_stride, count); });
}

template <class T>
void step_row(T w, const T* x, std::int64_t x_stride, T* acc, std::int64_t count) {
  wide([&] { row_body(w, x, x_stride, acc, count); });
}

template <class T>
void step_pairs(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride, T* acc,
                std::int64_t count) {
  if (a_stride == 0) return step_row(*a, b, b_stride, acc, count);
  if (b_stride == 0) return step_row(*b, a, a_stride, acc, count);
  wide([&] { pairs_body(a, a_stride, b, b_stride, acc, count); });
}

#define COMMENSAL_CHAIN(T)                                                              \
  template T chain<T>(T, const T*, std::int64_t, const T*, std::int64_t, std::int64_t); \
  template void step_row<T>(T, const T*, std::int64_t, T*, std::int64_t);               \
  template void step_pairs<T>(const T*, std::int64_t, const T*, std::int64_t, T*, std::int64_t);
COMMENSAL_CHAIN(float)
COMMENSAL_CHAIN(double)
COMMENSAL_CHAIN(std::int32_t)
COMMENSAL_CHAIN(std::int64_t)
COMMENSAL_CHAIN(std::uint32_t)
COMMENSAL_CHAIN(std::uint64_t)
#undef COMMENSAL_CHAIN

}  // namespace commensal::kernels::ref
