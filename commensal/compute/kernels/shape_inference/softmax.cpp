// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/softmax.hpp>

namespace commensal::kernels::shape_inference {

core::Result<Softmax> softmax_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Floats>(call, 0));
  const tensor::Shape& shape = call.in(0).shape();
  const bool flattens = call.opset < 13;
  Softmax made;
  made.type = call.in(0).type();
  COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", flattens ? 1 : -1));
  if (flattens && given == shape.rank()) return made;  // rows of one element
  COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, shape.rank()));
  if (flattens) {
    made.view.length = shape.elements(axis, shape.rank());
  } else {
    made.view = AxisView(shape, axis);
  }
  return made;
}

}  // namespace commensal::kernels::shape_inference
