// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// The functions of math/binary64.hpp and plain ones, a vector at a time, and what is made of them.
/// NaNs are canonical. Thread-safety: pure functions of their arguments.
struct DoubleKernels {
  /// y[i] = f(x[i]); y may be x. By Unary; null: there are only plain loops.
  std::array<void (*)(const double* x, double* y, std::int64_t count), kUnaries> unary{};
  /// y[i] = f(a[i * a_step], b[i * b_step]); the steps are 0 or 1, y may be a or b.
  void (*pow)(const double* a, int a_step, const double* b, int b_step, double* y,
              std::int64_t count) = nullptr;
  /// In the order of maxima; of none: -infinity.
  double (*largest)(const double* x, std::int64_t count) = nullptr;
  /// exp(x[i] - shift) to y[i], which may be x, and added to lane i mod 32 of `lanes`.
  void (*exp_sum)(const double* x, double shift, double* y, std::int64_t count,
                  double* lanes) = nullptr;
  /// y[i] = x[i] / by, y[i] = (x[i] - shift) - by; y may be x.
  void (*divide)(const double* x, double by, double* y, std::int64_t count) = nullptr;
  void (*subtract)(const double* x, double shift, double by, double* y,
                   std::int64_t count) = nullptr;
};

const DoubleKernels& double_kernels_for(Isa isa);

/// Serves a function of one double; false: there are only plain loops.
bool map_doubles(Unary what, const Tensor& x, Tensor& y, Workspace& ws);

/// Softmax and LogSoftmax of `rows` rows: element k of row r is at
/// r / inner * length * inner + k * inner + r % inner. Error: kResourceExhausted.
struct DoubleRows {
  std::int64_t rows = 0, length = 0, inner = 1;
  bool logarithm = false;
};
core::Result<void> softmax_doubles(const DoubleRows& rows, const double* x, double* y,
                                   Workspace& ws);

/// ReduceLogSumExp of doubles; false: it is not served.
core::Result<bool> log_sum_exp_doubles(const Call& call, Tensor& output, Workspace& ws);

}  // namespace commensal::kernels::cpu
