// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/gemm.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

// Places C, of rank 2 at most, over [m, n].
core::Result<void> place_c(const Shape& c, Gemm& gemm) {
  const std::int64_t rows = c.rank() < 2 ? 1 : c[0];
  const std::int64_t columns = c.rank() < 1 ? 1 : c[c.rank() - 1];
  if (c.rank() > 2 || (rows != 1 && rows != gemm.m) || (columns != 1 && columns != gemm.n)) {
    return fail(ErrorCode::kInvalidArgument, "input 2 {} does not broadcast to [{},{}]", c.text(),
                gemm.m, gemm.n);
  }
  gemm.c_column = columns == 1 ? 0 : 1;
  gemm.c_row = rows == 1 ? 0 : columns;
  return {};
}

core::Result<void> check_factors(const Gemm& gemm) {
  if (ref::Floats::has(gemm.dtype) || (gemm.alpha == 1 && gemm.beta == 1)) return {};
  return fail(ErrorCode::kUnsupported, "alpha and beta other than 1 on integers");
}

}  // namespace

core::Result<Gemm> gemm_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Products>(call, 0));
  COMMENSAL_TRY(check_same_dtype(call, 1));
  COMMENSAL_TRY(check_same_dtype(call, 2));
  COMMENSAL_TRY(check_rank(call, 0, 2));
  COMMENSAL_TRY(check_rank(call, 1, 2));
  Gemm gemm;
  gemm.dtype = call.in(0).dtype();
  COMMENSAL_ASSIGN(gemm.transpose_a, call.attributes->integer("transA", 0));
  COMMENSAL_ASSIGN(gemm.transpose_b, call.attributes->integer("transB", 0));
  COMMENSAL_ASSIGN(gemm.alpha, call.attributes->real("alpha", 1));
  COMMENSAL_ASSIGN(gemm.beta, call.attributes->real("beta", 1));
  COMMENSAL_TRY(check_factors(gemm));
  const Shape &a = call.in(0).shape(), &b = call.in(1).shape();
  gemm.m = a[gemm.transpose_a ? 1 : 0];
  gemm.k = a[gemm.transpose_a ? 0 : 1];
  gemm.n = b[gemm.transpose_b ? 0 : 1];
  if (b[gemm.transpose_b ? 1 : 0] != gemm.k) {
    return fail(ErrorCode::kInvalidArgument, "{}{} cannot be multiplied by {}{}", a.text(),
                gemm.transpose_a ? " transposed" : "", b.text(),
                gemm.transpose_b ? " transposed" : "");
  }
  COMMENSAL_TRY(Shape::of(std::array{gemm.m, gemm.n}));
  gemm.has_c = call.has(2);
  if (gemm.has_c) COMMENSAL_TRY(place_c(call.in(2).shape(), gemm));
  COMMENSAL_ASSIGN(const std::int64_t broadcast, call.attributes->integer("broadcast", 0));
  if (call.opset < 7 && broadcast == 0 && call.in(2).shape() != Shape{gemm.m, gemm.n}) {
    return fail(ErrorCode::kInvalidArgument, "input 2 {} is not [{},{}] and not broadcast",
                call.in(2).shape().text(), gemm.m, gemm.n);
  }
  return gemm;
}

std::int64_t MatMul::matrix(std::int64_t batch, const Dims& stride) const {
  std::int64_t at = 0;
  for (int d = batch_rank - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    at += batch % batch_dims[i] * stride[i];
    batch /= batch_dims[i];
  }
  return at;
}

namespace {

// Strides, in matrices, of the leading dimensions of `shape` (its last two are the matrix) within
// the broadcast batch dimensions.
Dims batch_strides(const Shape& shape, int batch_rank) {
  Dims strides{};
  const int own = shape.rank() - 2, shift = batch_rank - own;
  std::int64_t stride = 1;
  for (int d = own - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d + shift)] = shape[d] == 1 ? 0 : stride;
    stride *= shape[d];
  }
  return strides;
}

Shape leading(const Shape& shape) {
  return *Shape::of(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2)));
}

}  // namespace

core::Result<MatMul> matmul_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Products>(call, 0));
  COMMENSAL_TRY(check_same_dtype(call, 1));
  return matmul_of(call.in(0).type(), call.in(1).type());
}

core::Result<MatMul> matmul_of(const TensorType& type_a, const TensorType& type_b) {
  Shape a = type_a.shape, b = type_b.shape;
  const bool vector_a = a.rank() == 1, vector_b = b.rank() == 1;
  if (vector_a) a = *Shape::of(std::array{std::int64_t{1}, a[0]});
  if (vector_b) b = *Shape::of(std::array{b[0], std::int64_t{1}});
  if (a.rank() < 2 || b.rank() < 2 || a[a.rank() - 1] != b[b.rank() - 2]) {
    return fail(ErrorCode::kInvalidArgument, "{} cannot be multiplied by {}", type_a.shape.text(),
                type_b.shape.text());
  }
  MatMul mm;
  mm.dtype = type_a.dtype;
  mm.m = a[a.rank() - 2];
  mm.k = a[a.rank() - 1];
  mm.n = b[b.rank() - 1];
  COMMENSAL_ASSIGN(const Shape batch, tensor::broadcast(leading(a), leading(b)));
  mm.batches = batch.elements();
  mm.batch_rank = batch.rank();
  std::copy(batch.dims().begin(), batch.dims().end(), mm.batch_dims.begin());
  mm.a_stride = batch_strides(a, mm.batch_rank);
  mm.b_stride = batch_strides(b, mm.batch_rank);
  std::vector<std::int64_t> dims(batch.dims().begin(), batch.dims().end());
  if (!vector_a) dims.push_back(mm.m);
  if (!vector_b) dims.push_back(mm.n);
  COMMENSAL_ASSIGN(mm.shape, Shape::of(dims));
  return mm;
}

}  // namespace commensal::kernels::shape_inference
