// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <functional>

/// Operators on 16-bit floats, which compute in binary32 and round once, at the end.
namespace commensal::kernels::cpu {

inline bool is_half(tensor::DType dtype) {
  return dtype == tensor::DType::kFloat16 || dtype == tensor::DType::kBfloat16;
}

/// How the bits of one type of 16 bits become binary32, and binary32 is rounded to them.
struct HalfKernels {
  void (*widen)(const std::uint16_t* x, float* y, std::int64_t count) = nullptr;
  void (*round)(const float* x, std::uint16_t* y, std::int64_t count) = nullptr;
};
/// Checked: is_half(dtype).
HalfKernels half_kernels_for(Isa isa, tensor::DType dtype);
inline const std::uint16_t* half_bits(const Tensor& t) {
  return reinterpret_cast<const std::uint16_t*>(t.bytes().data());
}
inline std::uint16_t* half_bits(Tensor& t) {
  return reinterpret_cast<std::uint16_t*>(t.mutable_bytes().data());
}

/// What serves the same call on binary32; false: it does not, and left the outputs alone.
using ServeFn = std::function<core::Result<bool>(const Call&, std::span<Tensor>, Workspace&)>;
/// Serves a call whose 16-bit floats have become binary32, and rounds its outputs. The inputs
/// `packed` are null there where ws.packed has them, which is handed on for those alone. False too
/// where the arena has no room for them. Error: those of `serve`.
core::Result<bool> in_binary32(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               const ServeFn& serve, kernels::Places packed = {});
/// The same where input 0 is of 16-bit floats, else `fn` at once; what is not served goes to the
/// judge.
core::Result<void> serve(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                         const Judge& judge, const ServeFn& fn, kernels::Places packed = {});

}  // namespace commensal::kernels::cpu
