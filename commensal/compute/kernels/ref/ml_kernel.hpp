// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ml.hpp>

/// Support vector machines, in binary32 whatever the input.
namespace commensal::kernels::ref::ml {

enum class KernelType { kLinear, kPoly, kRbf, kSigmoid };

/// How near a row is to a vector.
struct Kernel {
  KernelType type = KernelType::kLinear;
  float gamma = 0, coef0 = 0, degree = 0;

  /// From `kernel_type` and `kernel_params`.
  static core::Result<Kernel> of(const Call& call);
  float value(std::span<const float> row, const float* vector, Pulse& pulse) const;
};

/// fma(row[i], vector[i], acc) from +0, ascending, at most `steps` of them.
float dot(std::span<const float> row, const float* vector, std::int64_t steps, Pulse& pulse);

/// A row of input 0 in binary32.
std::vector<float> row_of(const Call& call, std::int64_t row, std::int64_t features);

/// `count` vectors of `features` from the attribute `support_vectors`.
core::Result<std::vector<float>> support_vectors(const Call& call, std::int64_t count,
                                                 std::int64_t features);

/// The probabilities of k classes from those of each against each: `pairwise[i * k + j]` that of i
/// against j. (Wu, Lin and Weng, Probability estimates for multi-class classification by pairwise
/// coupling, 2004, the second method; at most 100 rounds.)
std::vector<float> coupled(std::span<const float> pairwise, std::size_t k, Pulse& pulse);

}  // namespace commensal::kernels::ref::ml
