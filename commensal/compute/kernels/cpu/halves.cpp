// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/narrow.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {

namespace {

using tensor::Bfloat16;
using tensor::DType;

constexpr std::int64_t kPiece = 1 << 15;

/// Calls convert(first, count) for all elements, on all threads.
template <class Convert>
void in_parts(Workspace& ws, std::int64_t elements, const Convert& convert) {
  ws.threads.run(ceil_div(elements, kPiece), [&](std::int64_t i) {
    convert(i * kPiece, std::min(kPiece, elements - i * kPiece));
  });
}

core::Result<Tensor> widened(const Tensor& from, Workspace& ws) {
  COMMENSAL_ASSIGN(Tensor made, Tensor::allocate(ws.arena, {DType::kFloat32, from.shape()}));
  float* const to = made.mutable_data<float>().data();
  in_parts(ws, from.elements(), [&](std::int64_t at, std::int64_t count) {
    if (from.dtype() == DType::kFloat16) {
      const auto* bits = reinterpret_cast<const std::uint16_t*>(from.bytes().data());
      return narrow_kernels_for(ws.isa).from_half(bits + at, to + at, count);
    }
    const Bfloat16* const x = from.data<Bfloat16>().data() + at;
    for (std::int64_t i = 0; i < count; ++i) to[at + i] = tensor::to_float(x[i]);
  });
  return made;
}

void round_into(const Tensor& from, Tensor& to, Workspace& ws) {
  const float* const x = from.data<float>().data();
  in_parts(ws, from.elements(), [&](std::int64_t at, std::int64_t count) {
    if (to.dtype() == DType::kFloat16) {
      auto* bits = reinterpret_cast<std::uint16_t*>(to.mutable_bytes().data());
      return narrow_kernels_for(ws.isa).to_half(x + at, bits + at, count);
    }
    Bfloat16* const y = to.mutable_data<Bfloat16>().data() + at;
    for (std::int64_t i = 0; i < count; ++i) y[i] = tensor::to_bfloat16(x[at + i]);
  });
}

}  // namespace

core::Result<bool> in_binary32(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               const ServeFn& serve) {
  std::vector<Tensor> wide(call.inputs.size());
  std::vector<const Tensor*> inputs(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !is_half(inputs[i]->dtype())) continue;
    COMMENSAL_ASSIGN(wide[i], widened(*inputs[i], ws));
    inputs[i] = &wide[i];
  }
  Call own = call;
  own.inputs = inputs;
  std::vector<Tensor> made(outputs.begin(), outputs.end());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!is_half(made[i].dtype())) continue;
    const TensorType type{DType::kFloat32, made[i].shape()};
    if (i < own.outputs.size()) own.outputs[i] = type;
    COMMENSAL_ASSIGN(made[i], Tensor::allocate(ws.arena, type));
  }
  Workspace unpacked{ws.arena, ws.threads, ws.isa};
  COMMENSAL_ASSIGN(const bool served, serve(own, made, unpacked));
  for (std::size_t i = 0; i < made.size() && served; ++i) {
    if (is_half(outputs[i].dtype())) round_into(made[i], outputs[i], ws);
  }
  return served;
}

core::Result<void> serve(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                         const Judge& judge, const ServeFn& fn) {
  const bool halves = is_half(call.in(0).dtype());
  COMMENSAL_ASSIGN(const bool served,
                   halves ? in_binary32(call, outputs, ws, fn) : fn(call, outputs, ws));
  if (!served) return judge.best()(call, outputs, ws);
  return {};
}

}  // namespace commensal::kernels::cpu
