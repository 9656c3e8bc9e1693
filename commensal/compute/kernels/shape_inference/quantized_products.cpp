// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;
using Bytes = ref::Types<std::uint8_t, std::int8_t>;

core::Result<Spreads> spreads_of(const Call& call, const CodeOperand& operand, std::int64_t count,
                                 const Shape* full) {
  Spreads made;
  COMMENSAL_ASSIGN(made.scale, Spread::of(call, operand.scale, count, full));
  COMMENSAL_ASSIGN(made.zero, Spread::of(call, operand.zero, count, full));
  return made;
}

// [..., M, 1] or [..., 1, N]: one for each row or column of all matrices of a tensor.
core::Result<Shape> one_for_each(const Shape& shape, bool rows) {
  if (shape.rank() < 2) return shape;
  return with_dim(shape, shape.rank() - (rows ? 1 : 2), 1);
}

}  // namespace

core::Result<void> check_codes(const Call& call, const CodeOperand& operand) {
  if (operand.codes >= 0) COMMENSAL_TRY(check_dtype<Bytes>(call, operand.codes));
  if (operand.scale >= 0) COMMENSAL_TRY(check_dtype<ref::Floats32>(call, operand.scale));
  if (operand.zero < 0 || !call.has(operand.zero)) return {};
  COMMENSAL_TRY(check_dtype<Bytes>(call, operand.zero));
  if (operand.codes < 0 || call.in(operand.zero).dtype() == call.in(operand.codes).dtype()) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "zero point {} must be {} like its tensor", operand.zero,
              traits(call.in(operand.codes).dtype()).name);
}

core::Result<Spread> Spread::of(const Call& call, int input, std::int64_t count,
                                const Shape* full) {
  if (input < 0 || !call.has(input)) return Spread{};
  const Shape& shape = call.in(input).shape();
  if (shape.rank() <= 1 && shape.elements() == 1) return Spread{};
  if (shape == Shape{count}) return Spread{false, false};
  if (full != nullptr && shape == *full) return Spread{false, true};
  return fail(ErrorCode::kInvalidArgument,
              "input {} {} must be a scalar, [{}] or one for each row or column", input,
              shape.text(), count);
}

core::Result<CodeMatMul> CodeMatMul::of(const Call& call, const CodeRoles& roles) {
  CodeMatMul made;
  const TensorType &a = call.in(roles.a.codes).type(), &b = call.in(roles.b.codes).type();
  COMMENSAL_ASSIGN(made.mm, matmul_of(a, b));
  COMMENSAL_ASSIGN(const Shape a_full, one_for_each(a.shape, true));
  COMMENSAL_ASSIGN(const Shape b_full, one_for_each(b.shape, false));
  COMMENSAL_ASSIGN(const Shape y_full, one_for_each(made.mm.shape, true));
  COMMENSAL_ASSIGN(made.a, spreads_of(call, roles.a, made.mm.m, &a_full));
  COMMENSAL_ASSIGN(made.b, spreads_of(call, roles.b, made.mm.n, &b_full));
  COMMENSAL_ASSIGN(made.y, spreads_of(call, roles.y, made.mm.m, &y_full));
  return made;
}

core::Result<CodeConv> CodeConv::of(const Call& call, const CodeRoles& roles) {
  CodeConv made;
  COMMENSAL_ASSIGN(made.conv, conv_of(call, {roles.a.codes, roles.b.codes, roles.bias}));
  if (made.conv.has_bias) {
    COMMENSAL_TRY(check_dtype<ref::Types<std::int32_t>>(call, roles.bias));
  }
  COMMENSAL_TRY(spreads_of(call, roles.a, 1, nullptr));
  COMMENSAL_ASSIGN(made.w, spreads_of(call, roles.b, made.conv.out_channels, nullptr));
  COMMENSAL_TRY(spreads_of(call, roles.y, 1, nullptr));
  return made;
}

}  // namespace commensal::kernels::shape_inference
