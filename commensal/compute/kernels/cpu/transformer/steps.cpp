// SPDX-License-Identifier: Apache-2.0
// LayerNormalization and Gelu as models write them where their opset has neither.
#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::cpu {

core::Result<std::vector<TensorType>> infer_layer_norm_steps(const Call& call) {
  const tensor::Shape& x = call.in(0).shape();
  for (int i = 0; i < 3; ++i)
    COMMENSAL_TRY(shape_inference::check_dtype<ref::Types<float>>(call, i));
  for (int i = 1; i < 3; ++i) {
    if (x.rank() > 0 && call.in(i).elements() == x[x.rank() - 1]) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "input {} {} does not fit {}", i,
                      call.in(i).shape().text(), x.text());
  }
  return std::vector<TensorType>{call.in(0).type()};
}

core::Result<void> layer_norm_steps(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const float epsilon, call.attributes->real("epsilon", 0));
  const tensor::Shape& shape = call.in(0).shape();
  if (shape.elements() == 0) return {};
  const std::int64_t length = shape[shape.rank() - 1], rows = shape.elements() / length;
  const auto normalise = kernels_for(ws.isa).layer_norm_steps;
  const float* const x = call.in(0).data<float>().data();
  const float* const scale = call.in(1).data<float>().data();
  const float* const bias = call.in(2).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t rows_a_task = std::max<std::int64_t>(8192 / length, 1);
  ws.threads.run((rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_a_task);
    for (std::int64_t row = task * rows_a_task; row < end; ++row) {
      normalise({x + row * length, y + row * length, length, scale, bias, epsilon});
    }
  });
  return {};
}

core::Result<std::vector<TensorType>> infer_gelu_steps(const Call& call) {
  COMMENSAL_TRY(shape_inference::check_dtype<ref::Types<float>>(call, 0));
  return std::vector<TensorType>{call.in(0).type()};
}

core::Result<void> gelu_steps(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  constexpr std::int64_t kTaskElements = 16384;
  COMMENSAL_ASSIGN(const float divisor, call.attributes->real("divisor", 1));
  const UnaryFn gelu = kernels_for(ws.isa).unary[static_cast<std::size_t>(Unary::kGeluSteps)];
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t count = outputs[0].elements();
  ws.threads.run((count + kTaskElements - 1) / kTaskElements, [&](std::int64_t task) {
    const std::int64_t from = task * kTaskElements;
    gelu(x + from, y + from, std::min(kTaskElements, count - from), {divisor, 0, 0});
  });
  return {};
}

}  // namespace commensal::kernels::cpu
