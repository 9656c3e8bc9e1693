// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/groups.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using tensor::DType;
using tensor::Shape;

namespace {

core::Result<Groups> layer_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
  COMMENSAL_ASSIGN(const std::int64_t stash, call.attributes->integer("stash_type", 1));
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
  if (stash != 1) return fail(ErrorCode::kUnsupported, "attribute 'stash_type' other than 1");
  Groups made;
  made.size = made.parameters = x.elements(axis, x.rank());
  if (made.size == 0)
    return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", x.text());
  for (int i = 1; i <= 2; ++i) {
    if (!call.has(i) || call.in(i).elements() == made.size) continue;
    return fail(ErrorCode::kInvalidArgument, "input {} must have {} elements, not {}", i, made.size,
                call.in(i).shape().text());
  }
  std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
  for (int d = axis; d < x.rank(); ++d) dims[static_cast<std::size_t>(d)] = 1;
  const TensorType facts{DType::kFloat32, *Shape::of(dims)};
  made.facts.assign(static_cast<std::size_t>(call.output_count - 1), facts);
  return made;
}

core::Result<void> check_parameters(const Call& call, std::int64_t count) {
  for (int i = 1; i <= 2; ++i) {
    if (call.in(i).shape() == Shape{count}) continue;
    return fail(ErrorCode::kInvalidArgument, "input {} must be [{}], not {}", i, count,
                call.in(i).shape().text());
  }
  return {};
}

core::Result<Groups> instance_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
  Groups made;
  made.parameters = x[1];
  made.size = made.stretch = x.elements(2, x.rank());
  COMMENSAL_TRY(check_parameters(call, made.parameters));
  return made;
}

// Before opset 21 a scale and bias for each group, from then on for each channel.
core::Result<Groups> channel_groups(const Call& call) {
  const Shape& x = call.in(0).shape();
  if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
  COMMENSAL_ASSIGN(const std::int64_t groups, call.attributes->integer("num_groups", 0));
  COMMENSAL_ASSIGN(const std::int64_t stash, call.attributes->integer("stash_type", 1));
  if (stash != 1) return fail(ErrorCode::kUnsupported, "attribute 'stash_type' other than 1");
  if (groups < 1 || x[1] % groups != 0) {
    return fail(ErrorCode::kInvalidArgument, "{} channels cannot be cut into {} groups", x[1],
                groups);
  }
  Groups made;
  const std::int64_t plane = x.elements(2, x.rank());
  made.size = x[1] / groups * plane;
  if (made.size == 0)
    return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", x.text());
  made.parameters = call.opset < 21 ? groups : x[1];
  made.stretch = call.opset < 21 ? made.size : plane;
  COMMENSAL_TRY(check_parameters(call, made.parameters));
  return made;
}

}  // namespace

core::Result<Groups> groups_of(const Call& call, GroupForm form) {
  if (form == GroupForm::kLayer) return layer_groups(call);
  return form == GroupForm::kInstance ? instance_groups(call) : channel_groups(call);
}

}  // namespace commensal::kernels::shape_inference
