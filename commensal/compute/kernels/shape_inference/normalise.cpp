// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

namespace {

// Before opset 7 an attribute says that it does not train, from 14 on one that it does; between
// them, the number of outputs.
core::Result<bool> trains(const Call& call) {
  COMMENSAL_ASSIGN(const std::int64_t training, call.attributes->integer("training_mode", 0));
  COMMENSAL_ASSIGN(const std::int64_t is_test, call.attributes->integer("is_test", 0));
  if (call.opset < 7) return is_test == 0;
  if (call.opset < 14) return call.output_count > 1;
  return training != 0;
}

}  // namespace

core::Result<BatchNorm> batch_norm_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Floats>(call, 0));
  const Shape& x = call.in(0).shape();
  COMMENSAL_ASSIGN(const std::int64_t spatial, call.attributes->integer("spatial", 1));
  BatchNorm made;
  COMMENSAL_ASSIGN(made.trains, trains(call));
  COMMENSAL_ASSIGN(made.momentum, call.attributes->real("momentum", 0.9f));
  made.outputs = call.output_count;
  if (!made.trains && made.outputs > 1) {
    return fail(ErrorCode::kInvalidArgument, "only training has more than one output");
  }
  made.type = call.in(0).type();
  made.parameters = call.in(1).dtype();
  made.channels = x.rank() > 1 ? x[1] : 1;
  made.plane = x.elements(2, x.rank());
  Shape parameters{made.channels};
  if (call.opset < 9 && spatial == 0 && x.rank() > 1) {
    COMMENSAL_ASSIGN(parameters, Shape::of(x.dims().subspan(1)));
    made.channels = parameters.elements();
    made.plane = 1;
  }
  made.parameter_shape = parameters;
  for (int i = 1; i <= 4; ++i) {
    if (call.in(i).type() == TensorType{made.parameters, parameters}) continue;
    return fail(ErrorCode::kInvalidArgument, "input {} must be {}{}, not {}", i,
                traits(made.parameters).name, parameters.text(), call.in(i).type().text());
  }
  COMMENSAL_TRY(check_dtype<ref::Floats>(call, 1));
  const auto is_double = [](tensor::DType dtype) { return dtype == tensor::DType::kFloat64; };
  if (is_double(made.parameters) != is_double(made.type.dtype)) {
    return fail(ErrorCode::kUnsupported, "float64 beside another type");
  }
  COMMENSAL_ASSIGN(made.epsilon, call.attributes->real("epsilon", 1e-5f));
  return made;
}

core::Result<Lrn> lrn_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Floats32>(call, 0));
  const Shape& x = call.in(0).shape();
  if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
  Lrn made;
  made.type = call.in(0).type();
  COMMENSAL_ASSIGN(made.alpha, call.attributes->real("alpha", 1e-4f));
  COMMENSAL_ASSIGN(made.beta, call.attributes->real("beta", 0.75f));
  COMMENSAL_ASSIGN(made.bias, call.attributes->real("bias", 1.0f));
  COMMENSAL_ASSIGN(made.size, call.attributes->integer("size", 0));
  if (made.size < 1 || made.size > (std::int64_t{1} << 31)) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'size' is {}", made.size);
  }
  made.before = (made.size - 1) / 2;
  made.after = made.size / 2;
  made.channels = x[1];
  made.plane = x.elements(2, x.rank());
  return made;
}

}  // namespace commensal::kernels::shape_inference
