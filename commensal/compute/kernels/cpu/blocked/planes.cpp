// SPDX-License-Identifier: Apache-2.0
// What does the same to every pixel of a block: operators whose other operand is one element for
// each channel, and BatchNormalization.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

/// Of what the planner writes for "role".
Binary binary_of(std::int64_t role) {
  switch (static_cast<Role>(role)) {
    case Role::kAdd:
      return Binary::kAdd;
    case Role::kDiv:
      return Binary::kDiv;
    case Role::kMul:
      return Binary::kMul;
    default:
      return Binary::kSub;
  }
}

/// fma(x - mean, scale, bias), in whole blocks.
struct Normaliser final : Packed {
  AlignedFloats mean, scale, bias;
  explicit Normaliser(std::int64_t channels)
      : mean(blocks_of(channels) * kBlock),
        scale(blocks_of(channels) * kBlock),
        bias(blocks_of(channels) * kBlock) {}
};

}  // namespace

Types infer_blocked_same(const Call& call) { return std::vector{call.in(0).type()}; }

Done blocked_binary(const Call& call, Outputs outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const std::int64_t role, call.attributes->integer("role", 0));
  const auto fn = blocked_kernels_for(ws.isa).binary[static_cast<std::size_t>(binary_of(role))];
  const BlockedShape shape = BlockedShape::of(call.in(0).shape());
  const std::int64_t channels_step = call.in(1).shape()[0] == 1 ? 0 : shape.blocks * kBlock;
  const float* const a = call.in(0).data<float>().data();
  const float* const b = call.in(1).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t row = shape.width * kBlock;
  for_each_plane(shape, ws.threads, [&](std::int64_t plane, Range rows) {
    const std::int64_t at = plane * shape.plane() + rows.begin * row;
    const std::int64_t pixels = (rows.end - rows.begin) * shape.width;
    const std::int64_t n = plane / shape.blocks, block = plane % shape.blocks;
    fn(a + at, b + n * channels_step + block * kBlock, y + at, pixels);
  });
  return {};
}

core::Result<std::shared_ptr<const Packed>> pack_blocked_normalise(const Call& call, Isa) {
  COMMENSAL_ASSIGN(const float epsilon, call.attributes->real("epsilon", 1e-5f));
  const std::int64_t channels = call.in(1).elements();
  auto made = std::make_shared<Normaliser>(channels);
  for (std::int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<std::size_t>(c);
    made->mean.data()[c] = call.in(3).data<float>()[i];
    made->scale.data()[c] =
        call.in(1).data<float>()[i] / std::sqrt(call.in(4).data<float>()[i] + epsilon);
    made->bias.data()[c] = call.in(2).data<float>()[i];
  }
  return made;
}

Done blocked_normalise(const Call& call, Outputs outputs, Workspace& ws) {
  const auto& normaliser = static_cast<const Normaliser&>(*ws.packed);
  PlaneNormalise how;
  how.clamps = call.attributes->has("low");
  COMMENSAL_ASSIGN(how.low, call.attributes->real("low", 0));
  COMMENSAL_ASSIGN(how.high, call.attributes->real("high", 0));
  const auto normalise = blocked_kernels_for(ws.isa).normalise;
  const BlockedShape shape = BlockedShape::of(call.in(0).shape());
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t row = shape.width * kBlock;
  for_each_plane(shape, ws.threads, [&](std::int64_t plane, Range rows) {
    const std::int64_t at = plane * shape.plane() + rows.begin * row;
    const std::int64_t pixels = (rows.end - rows.begin) * shape.width;
    const std::int64_t channel = plane % shape.blocks * kBlock;
    PlaneNormalise one = how;
    one.mean = normaliser.mean.data() + channel;
    one.scale = normaliser.scale.data() + channel;
    one.bias = normaliser.bias.data() + channel;
    normalise(x + at, one, y + at, pixels);
  });
  return {};
}

}  // namespace commensal::kernels::cpu
