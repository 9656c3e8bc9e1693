// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cuda/kernels.hpp>
#include <commensal/compute/kernels/infer/broadcast.hpp>

namespace commensal::kernels::cuda {
namespace {

template <Function kFunction>
core::Result<void> run_unary(const Call& call, std::span<Tensor> outputs, Device& device) {
  const std::int64_t count = outputs[0].elements();
  if (count == 0) return {};
  COMMENSAL_ASSIGN(const auto x, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const auto y, device.floats(count));
  UnaryTask task{.function = kFunction, .x = x.get(), .y = y.get(), .count = count};
  if (kFunction == Function::kLeakyRelu) {
    COMMENSAL_ASSIGN(task.alpha, call.attributes->real("alpha", 0.01f));
  }
  device.run(&Driver::unary, task);
  return device.download(y.get(), outputs[0]);
}

template <Pairing kPairing>
core::Result<void> run_binary(const Call& call, std::span<Tensor> outputs, Device& device) {
  COMMENSAL_ASSIGN(const infer::Broadcast broadcast, infer::Broadcast::of(call));
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(const auto a, device.upload(call.in(0)));
  COMMENSAL_ASSIGN(const auto b, device.upload(call.in(1)));
  COMMENSAL_ASSIGN(const auto y, device.floats(outputs[0].elements()));
  BinaryTask task{.pairing = kPairing,
                  .a = a.get(),
                  .b = b.get(),
                  .y = y.get(),
                  .count = outputs[0].elements(),
                  .rank = broadcast.shape().rank()};
  static_assert(BinaryTask::kRankMax == limits::kRankMax);
  for (int d = 0; d < task.rank; ++d) {
    task.dims[d] = broadcast.shape()[d];
    task.a_stride[d] = broadcast.strides(0)[static_cast<std::size_t>(d)];
    task.b_stride[d] = broadcast.strides(1)[static_cast<std::size_t>(d)];
  }
  device.run(&Driver::binary, task);
  return device.download(y.get(), outputs[0]);
}

constexpr int kSpatialMax = 3;

bool few_dimensions(const Call& call) { return call.in(0).shape().rank() <= 2 + kSpatialMax; }
bool two_inputs(const Call& call) { return call.inputs.size() == 2; }

struct Row {
  std::string_view name;
  DeviceFn run = nullptr;
  bool (*takes)(const Call&) = nullptr;  // null: any call of float32
};

constexpr Row kRows[] = {
    {"Acos", run_unary<Function::kAcos>},
    {"Acosh", run_unary<Function::kAcosh>},
    {"Add", run_binary<Pairing::kAdd>},
    {"Asin", run_unary<Function::kAsin>},
    {"Asinh", run_unary<Function::kAsinh>},
    {"Atan", run_unary<Function::kAtan>},
    {"Atanh", run_unary<Function::kAtanh>},
    {"Conv", run_conv, few_dimensions},
    {"Cos", run_unary<Function::kCos>},
    {"Cosh", run_unary<Function::kCosh>},
    {"Div", run_binary<Pairing::kDiv>},
    {"Erf", run_unary<Function::kErf>},
    {"Exp", run_unary<Function::kExp>},
    {"Gemm", run_gemm},
    {"InstanceNormalization", run_instance_norm},
    {"LayerNormalization", run_layer_norm},
    {"LeakyRelu", run_unary<Function::kLeakyRelu>},
    {"Log", run_unary<Function::kLog>},
    {"MatMul", run_matmul},
    {"Max", run_binary<Pairing::kMax>, two_inputs},
    {"Min", run_binary<Pairing::kMin>, two_inputs},
    {"Mul", run_binary<Pairing::kMul>},
    {"Pow", run_binary<Pairing::kPow>},
    {"Relu", run_unary<Function::kRelu>},
    {"Sigmoid", run_unary<Function::kSigmoid>},
    {"Sin", run_unary<Function::kSin>},
    {"Sinh", run_unary<Function::kSinh>},
    {"Softmax", run_softmax},
    {"Softplus", run_unary<Function::kSoftplus>},
    {"Sqrt", run_unary<Function::kSqrt>},
    {"Sub", run_binary<Pairing::kSub>},
    {"Tan", run_unary<Function::kTan>},
    {"Tanh", run_unary<Function::kTanh>},
};

}  // namespace

DeviceFn kernel_for(const Operator& op, const Call& call) {
  if (!op.domain.empty()) return nullptr;
  for (const Tensor* input : call.inputs) {
    if (input != nullptr && input->dtype() != tensor::DType::kFloat32) return nullptr;
  }
  for (const Row& row : kRows) {
    if (row.name != op.name) continue;
    return row.takes == nullptr || row.takes(call) ? row.run : nullptr;
  }
  return nullptr;
}

std::vector<std::string_view> operators() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.push_back(row.name);
  return names;
}

}  // namespace commensal::kernels::cuda
