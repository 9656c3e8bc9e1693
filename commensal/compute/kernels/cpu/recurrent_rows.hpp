// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>

/// What steps of recurrent layers do with rows and no operator asks for alone.
namespace commensal::kernels::cpu {

struct RecurrentRows {
  /// y[i] = fma(a[i], b[i], c[i]); y may be any of them.
  void (*mul_add)(const float* a, const float* b, const float* c, float* y,
                  std::int64_t count) = nullptr;
  /// y[i] = (y[i] + a[i]) + b[i]
  void (*add_both)(const float* a, const float* b, float* y, std::int64_t count) = nullptr;
  /// h[i] = fma(z[i], h[i], (1 - z[i]) * n[i])
  void (*blend)(const float* z, const float* n, float* h, std::int64_t count) = nullptr;
  UnaryFn affine = nullptr;       // first * x + second, not fused
  UnaryFn scaled_tanh = nullptr;  // first * tanh(second * x)
  UnaryFn softsign = nullptr;
  UnaryFn thresholded_relu = nullptr;  // from `first` on
};

const RecurrentRows& recurrent_rows_for(Isa isa);

}  // namespace commensal::kernels::cpu
