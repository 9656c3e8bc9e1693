// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cuda/kernels.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>

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
  COMMENSAL_ASSIGN(const shape_inference::Broadcast broadcast,
                   shape_inference::Broadcast::of(call));
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

DeviceFn kernel_of(Cuda kernel, const Call& call) {
  // clang-format off
  switch (kernel) {
    case Cuda::kNone: return nullptr;
    case Cuda::kAcos: return run_unary<Function::kAcos>;
    case Cuda::kAcosh: return run_unary<Function::kAcosh>;
    case Cuda::kAdd: return run_binary<Pairing::kAdd>;
    case Cuda::kAsin: return run_unary<Function::kAsin>;
    case Cuda::kAsinh: return run_unary<Function::kAsinh>;
    case Cuda::kAtan: return run_unary<Function::kAtan>;
    case Cuda::kAtanh: return run_unary<Function::kAtanh>;
    case Cuda::kConv: return few_dimensions(call) ? run_conv : nullptr;
    case Cuda::kCos: return run_unary<Function::kCos>;
    case Cuda::kCosh: return run_unary<Function::kCosh>;
    case Cuda::kDiv: return run_binary<Pairing::kDiv>;
    case Cuda::kErf: return run_unary<Function::kErf>;
    case Cuda::kExp: return run_unary<Function::kExp>;
    case Cuda::kGemm: return run_gemm;
    case Cuda::kInstanceNorm: return run_instance_norm;
    case Cuda::kLayerNorm: return run_layer_norm;
    case Cuda::kLeakyRelu: return run_unary<Function::kLeakyRelu>;
    case Cuda::kLog: return run_unary<Function::kLog>;
    case Cuda::kMatMul: return run_matmul;
    case Cuda::kMax: return two_inputs(call) ? run_binary<Pairing::kMax> : nullptr;
    case Cuda::kMin: return two_inputs(call) ? run_binary<Pairing::kMin> : nullptr;
    case Cuda::kMul: return run_binary<Pairing::kMul>;
    case Cuda::kPow: return run_binary<Pairing::kPow>;
    case Cuda::kRelu: return run_unary<Function::kRelu>;
    case Cuda::kSigmoid: return run_unary<Function::kSigmoid>;
    case Cuda::kSin: return run_unary<Function::kSin>;
    case Cuda::kSinh: return run_unary<Function::kSinh>;
    case Cuda::kSoftmax: return run_softmax;
    case Cuda::kSoftplus: return run_unary<Function::kSoftplus>;
    case Cuda::kSqrt: return run_unary<Function::kSqrt>;
    case Cuda::kSub: return run_binary<Pairing::kSub>;
    case Cuda::kTan: return run_unary<Function::kTan>;
    case Cuda::kTanh: return run_unary<Function::kTanh>;
  }
  // clang-format on
  return nullptr;
}

}  // namespace

DeviceFn kernel_for(const Operator& op, const Call& call) {
  for (const Tensor* input : call.inputs) {
    if (input != nullptr && input->dtype() != tensor::DType::kFloat32) return nullptr;
  }
  return kernel_of(op.cuda, call);
}

}  // namespace commensal::kernels::cuda
