// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/math/turns.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/fourier.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

core::Result<Transform> transform_of(std::int64_t n, bool complex, bool inverse, bool onesided) {
  if (n < 1 || n > math::kTurnsMax) {
    return fail(ErrorCode::kInvalidArgument, "a transform of length {}, expected 1 to {}", n,
                math::kTurnsMax);
  }
  if (onesided && (complex || inverse)) {
    return fail(ErrorCode::kUnsupported, "a onesided transform of complex numbers");
  }
  return Transform{n, n, onesided ? n / 2 + 1 : n, complex, inverse};
}

core::Result<bool> is_complex(const Shape& x) {
  const std::int64_t last = x.rank() > 0 ? x[x.rank() - 1] : 0;
  if (last == 1 || last == 2) return last == 2;
  return fail(ErrorCode::kInvalidArgument, "the last dimension of {} must be 1 or 2", x.text());
}

core::Result<std::int64_t> one_integer(const Call& call, int input) {
  COMMENSAL_ASSIGN(const auto list, integer_list(call, input));
  if (list.size() == 1) return list[0];
  return fail(ErrorCode::kInvalidArgument, "input {} must be one integer", input);
}

// An attribute, from opset 20 on an input. The last axis holds the parts of a number.
core::Result<int> dft_axis_of(const Call& call) {
  const int rank = call.in(0).shape().rank();
  std::int64_t given = -2;
  if (call.opset < 20) {
    COMMENSAL_ASSIGN(given, call.attributes->integer("axis", 1));
  } else if (call.has(2)) {
    COMMENSAL_ASSIGN(given, one_integer(call, 2));
  }
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, rank));
  if (axis < rank - 1) return axis;
  return fail(ErrorCode::kInvalidArgument, "axis {} holds the parts of the numbers", axis);
}

}  // namespace

core::Result<Dft> dft_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Floats32>(call, 0));
  Dft op;
  op.dtype = call.in(0).dtype();
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const bool complex, is_complex(x));
  COMMENSAL_ASSIGN(const int axis, dft_axis_of(call));
  COMMENSAL_ASSIGN(const std::int64_t inverse, call.attributes->integer("inverse", 0));
  COMMENSAL_ASSIGN(const std::int64_t onesided, call.attributes->integer("onesided", 0));
  std::int64_t n = x[axis];
  if (call.has(1)) {
    COMMENSAL_ASSIGN(n, one_integer(call, 1));
  }
  COMMENSAL_ASSIGN(op.transform, transform_of(n, complex, inverse != 0, onesided != 0));
  op.transform.terms = std::min(n, x[axis]);
  COMMENSAL_ASSIGN(const Shape cut, with_dim(x, axis, op.transform.bins));
  COMMENSAL_ASSIGN(op.to, with_dim(cut, x.rank() - 1, 2));
  op.from_view = AxisView(x, axis);
  op.to_view = AxisView(op.to, axis);
  return op;
}

core::Result<Stft> stft_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Floats32>(call, 0));
  COMMENSAL_TRY(check_same_dtype(call, 2));
  COMMENSAL_TRY(check_rank(call, 0, 3));
  Stft op;
  op.dtype = call.in(0).dtype();
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const bool complex, is_complex(x));
  COMMENSAL_ASSIGN(op.step, one_integer(call, 1));
  COMMENSAL_ASSIGN(const std::int64_t onesided, call.attributes->integer("onesided", 1));
  if (!call.has(2) && !call.has(3)) {
    return fail(ErrorCode::kInvalidArgument, "a window or a frame length must be there");
  }
  std::int64_t n = call.has(2) ? call.in(2).elements() : 0;
  if (call.has(3)) {
    COMMENSAL_ASSIGN(n, one_integer(call, 3));
  }
  op.length = x[1];
  if (op.step < 1 || n < 1 || n > op.length) {
    return fail(ErrorCode::kInvalidArgument, "frames of {}, {} apart, in a signal of {}", n,
                op.step, op.length);
  }
  if (call.has(2) && call.in(2).shape() != Shape{n}) {
    return fail(ErrorCode::kInvalidArgument, "the window must be [{}], not {}", n,
                call.in(2).shape().text());
  }
  COMMENSAL_ASSIGN(op.transform, transform_of(n, complex, false, onesided != 0));
  op.frames = (op.length - n) / op.step + 1;
  COMMENSAL_ASSIGN(op.to,
                   Shape::of(std::array{x[0], op.frames, op.transform.bins, std::int64_t{2}}));
  return op;
}

}  // namespace commensal::kernels::shape_inference
