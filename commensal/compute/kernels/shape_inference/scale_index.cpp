// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/scale_index.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

core::Result<ScaleIndex> ScaleIndex::of(const Call& call) {
  const Shape &x = call.in(0).shape(), &scale = call.in(1).shape();
  COMMENSAL_TRY(check_dtype<ref::Scales>(call, 1));
  // One scale may have a zero point of another rank.
  const bool both_single = scale.elements() == 1 && call.has(2) && call.in(2).elements() == 1;
  if (call.has(2) && !both_single && call.in(2).shape() != scale) {
    return fail(ErrorCode::kInvalidArgument, "zero point {} must have the shape of scale {}",
                call.in(2).shape().text(), scale.text());
  }
  ScaleIndex place;
  COMMENSAL_ASSIGN(const std::int64_t axis_given, call.attributes->integer("axis", 1));
  COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("block_size", 0));
  if (block == 0 && scale.rank() <= 1 && scale.elements() == 1) return place;
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(axis_given, x.rank()));
  place.single = false;
  place.view = AxisView(x, axis);
  place.blocks = x[axis];
  Shape expected = {x[axis]};
  if (block > 0) {
    place.block = block;
    place.blocks = x[axis] / block + (x[axis] % block == 0 ? 0 : 1);
    COMMENSAL_ASSIGN(expected, with_dim(x, axis, place.blocks));
    place.blocked = true;
  }
  if (block < 0 || scale != expected) {
    return fail(ErrorCode::kInvalidArgument, "scale {} does not fit input {}: expected {}",
                scale.text(), x.text(), expected.text());
  }
  return place;
}

}  // namespace commensal::kernels::shape_inference
