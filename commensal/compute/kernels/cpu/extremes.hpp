// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {

/// y[i] = the larger or the smaller of a[i * a_step] and b[i * b_step], elements of one type; the
/// steps are 0 or 1, y may be a or b.
using ExtremeFn = void (*)(const void* a, int a_step, const void* b, int b_step, void* y,
                           std::int64_t count);
/// Of integers and of doubles; null: of none other.
ExtremeFn larger_for(Isa isa, tensor::DType dtype);
ExtremeFn smaller_for(Isa isa, tensor::DType dtype);

/// The largest double of each window, by way of whole numbers in the order of maxima.
struct WindowKernels {
  /// keys[i] = the key of the largest of x[rows[p] + i], p < count; of none: that of -infinity.
  void (*rows)(const double* x, const std::int64_t* rows, std::int64_t count, std::int64_t* keys,
               std::int64_t columns) = nullptr;
  /// y[i] = the number of the largest of keys[i * stride + t * dilation], t < taps.
  void (*taps)(const std::int64_t* keys, std::int64_t stride, std::int64_t taps,
               std::int64_t dilation, double* y, std::int64_t count) = nullptr;
};
const WindowKernels& window_kernels_for(Isa isa);

}  // namespace commensal::kernels::cpu
