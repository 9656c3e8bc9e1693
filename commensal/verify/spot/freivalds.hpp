// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// A random vector against a whole product: r'(A B) = (r'A) B costs 1/m + 1/k + 1/n of A B.
/// Source: Freivalds, "Probabilistic machines can use less running time" (IFIP 1977); for networks
/// Tramer and Boneh, "Slalom" (arXiv 1806.03287). Pure functions.
namespace commensal::spot {

/// MatMul of two matrices or Gemm, of float32, whose vector costs at most half of the product with
/// the hashing of A and Y (B being a weight at hand): weights of 1300 x 1300 and more.
bool is_large_product(const kernels::Operator& op, const kernels::Call& call);

struct Residual {
  double worst = 0;     // over the columns: |residual| as a multiple of what rounding explains
  std::int64_t column = 0;
  bool is_suspect() const { return worst > 1; }
};

/// For each column j of Y = alpha A B + beta C, with signs r drawn from `seed`: sum over i of
/// r_i Y_ij, beside the same from A, B and C in binary64. What rounding explains is
/// 8 2^-24 sqrt(m k) times the column's mean sum of |a b|: a random walk of roundings stays far
/// below it, dropped mantissa bits may as well. So a suspect is no culprit: the product is
/// computed again, bit by bit. Columns with what is not finite are suspect where A, B and C are
/// finite and small. Precondition: is_large_product, or its types; `output` has the inferred type.
Residual residual_of(const kernels::Operator& op, const kernels::Call& call,
                     const tensor::Tensor& output, const core::Digest& seed);

}  // namespace commensal::spot
