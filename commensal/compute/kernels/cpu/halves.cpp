// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/narrow.hpp>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

constexpr std::int64_t kPiece = 1 << 15;

/// Calls convert(first, count) for all elements, on all threads.
template <class Convert>
void in_parts(Workspace& ws, std::int64_t elements, const Convert& convert) {
  ws.threads.run(ceil_div(elements, kPiece), [&](std::int64_t i) {
    convert(i * kPiece, std::min(kPiece, elements - i * kPiece));
  });
}

/// By the call's own thread where there is no other: so whoever asks which loops serve, and ends
/// what comes in tasks, still learns what is chosen thereafter.
core::Result<Tensor> widened(const Call& call, const Tensor& from, Workspace& ws) {
  COMMENSAL_ASSIGN(Tensor made, Tensor::allocate(ws.arena, {DType::kFloat32, from.shape()}));
  float* const to = made.mutable_data<float>().data();
  const HalfKernels kernels = half_kernels_for(ws.isa, from.dtype());
  const auto widen = [&](std::int64_t at, std::int64_t count) {
    kernels.widen(half_bits(from) + at, to + at, count);
  };
  if (ws.threads.threads() > 1) {
    in_parts(ws, from.elements(), widen);
    return made;
  }
  for (std::int64_t at = 0; at < from.elements(); at += kPiece) {
    call.pulse(kPiece / 8);
    widen(at, std::min(kPiece, from.elements() - at));
  }
  return made;
}

void round_into(const Tensor& from, Tensor& to, Workspace& ws) {
  const float* const x = from.data<float>().data();
  std::uint16_t* const y = half_bits(to);
  const HalfKernels kernels = half_kernels_for(ws.isa, to.dtype());
  in_parts(ws, from.elements(),
           [&](std::int64_t at, std::int64_t count) { kernels.round(x + at, y + at, count); });
}

}  // namespace

HalfKernels half_kernels_for(Isa isa, DType dtype) {
  core::check(is_half(dtype), "floats of 16 bits");
  const NarrowKernels& kernels = narrow_kernels_for(isa);
  if (dtype == DType::kFloat16) return {kernels.from_half, kernels.to_half};
  return {kernels.from_bfloat16, kernels.to_bfloat16};
}

core::Result<bool> in_binary32(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               const ServeFn& serve, kernels::Places packed) {
  Workspace own_ws{ws.arena, ws.threads, ws.isa, packed.bits == 0 ? nullptr : ws.packed};
  std::vector<Tensor> wide(call.inputs.size());
  std::vector<const Tensor*> inputs(call.inputs.begin(), call.inputs.end());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (own_ws.packed != nullptr && packed.has(i)) inputs[i] = nullptr;
    if (inputs[i] == nullptr || !is_half(inputs[i]->dtype())) continue;
    auto made = widened(call, *inputs[i], ws);
    if (!made) return false;  // no room: the judge has them as they are
    wide[i] = *std::move(made);
    inputs[i] = &wide[i];
  }
  Call own = call;
  own.inputs = inputs;
  std::vector<Tensor> made(outputs.begin(), outputs.end());
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!is_half(made[i].dtype())) continue;
    const TensorType type{DType::kFloat32, made[i].shape()};
    if (i < own.outputs.size()) own.outputs[i] = type;
    auto room = Tensor::allocate(ws.arena, type);
    if (!room) return false;
    made[i] = *std::move(room);
  }
  COMMENSAL_ASSIGN(const bool served, serve(own, made, own_ws));
  for (std::size_t i = 0; i < made.size() && served; ++i) {
    if (is_half(outputs[i].dtype())) round_into(made[i], outputs[i], ws);
  }
  return served;
}

core::Result<void> serve(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                         const Judge& judge, const ServeFn& fn, kernels::Places packed) {
  const bool halves = is_half(call.in(0).dtype());
  COMMENSAL_ASSIGN(const bool served,
                   halves ? in_binary32(call, outputs, ws, fn, packed) : fn(call, outputs, ws));
  if (!served) return judge.best()(call, outputs, ws);
  return {};
}

}  // namespace commensal::kernels::cpu
