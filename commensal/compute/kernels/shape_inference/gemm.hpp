// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::shape_inference {

/// A Gemm call, checked: Y [m, n] = alpha A' B' + beta C, A' [m, k] and B' [k, n] transposed where
/// asked, C broadcast to [m, n] or absent. Element (i, j) of C is C[i * c_row + j * c_column].
struct Gemm {
  tensor::DType dtype = tensor::DType::kUndefined;
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false, has_c = false;
  float alpha = 1, beta = 1;
  std::int64_t c_row = 0, c_column = 0;
};
core::Result<Gemm> gemm_of(const Call& call);

/// A MatMul call (numpy.matmul), checked: `batches` products of [m, k] by [k, n]; a batch of A or
/// B may serve several of Y.
struct MatMul {
  tensor::DType dtype = tensor::DType::kUndefined;
  tensor::Shape shape;  // of Y
  std::int64_t batches = 1, m = 0, n = 0, k = 0;
  int batch_rank = 0;
  Dims batch_dims{}, a_stride{}, b_stride{};  // in matrices, 0 where broadcast

  /// Which matrix of A (or B) product `batch` multiplies.
  std::int64_t a_matrix(std::int64_t batch) const { return matrix(batch, a_stride); }
  std::int64_t b_matrix(std::int64_t batch) const { return matrix(batch, b_stride); }

 private:
  std::int64_t matrix(std::int64_t batch, const Dims& stride) const;
};
core::Result<MatMul> matmul_of(const Call& call);
/// The same from the types of A and B, whatever their elements.
core::Result<MatMul> matmul_of(const TensorType& a, const TensorType& b);

}  // namespace commensal::kernels::shape_inference
