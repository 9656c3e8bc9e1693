// SPDX-License-Identifier: Apache-2.0
// Into blocks of channels and out of them: from [N, C, H, W] and from [N, H, W, C].
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

core::Result<std::int64_t> channels_of(const Call& call) {
  return call.attributes->integer("channels", 0);
}

}  // namespace

Types infer_to_blocked(const Call& call) {
  const tensor::Shape& x = call.in(0).shape();
  return std::vector{BlockedShape{x[0], blocks_of(x[1]), x[2], x[3]}.type()};
}

Done to_blocked(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedShape shape = BlockedShape::of(outputs[0].shape());
  const std::int64_t channels = call.in(0).shape()[1], plane = shape.pixels();
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  const float* from = x + (n * channels + block * kBlock) * plane + pixel;
                  float* const to = y + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  if (count < kBlock) std::fill(to, to + pixels * kBlock, 0.0f);
                  for (std::int64_t c = 0; c < count; ++c, from += plane) {
                    for (std::int64_t i = 0; i < pixels; ++i) to[i * kBlock + c] = from[i];
                  }
                });
  return {};
}

Types infer_from_blocked(const Call& call) {
  const BlockedShape x = BlockedShape::of(call.in(0).shape());
  COMMENSAL_ASSIGN(const std::int64_t channels, channels_of(call));
  COMMENSAL_ASSIGN(const std::int64_t flat, call.attributes->integer("flat", 0));
  TensorType type{tensor::DType::kFloat32, {x.batch, channels, x.height, x.width}};
  if (flat != 0) type.shape = {x.batch, channels * x.pixels()};
  return std::vector{type};
}

Done from_blocked(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedShape shape = BlockedShape::of(call.in(0).shape());
  COMMENSAL_ASSIGN(const std::int64_t channels, channels_of(call));
  const std::int64_t plane = shape.pixels();
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  const float* const from =
                      x + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  float* to = y + (n * channels + block * kBlock) * plane + pixel;
                  for (std::int64_t c = 0; c < count; ++c, to += plane) {
                    for (std::int64_t i = 0; i < pixels; ++i) to[i] = from[i * kBlock + c];
                  }
                });
  return {};
}

Types infer_last_to_blocked(const Call& call) {
  const tensor::Shape& x = call.in(0).shape();
  return std::vector{BlockedShape{x[0], blocks_of(x[3]), x[1], x[2]}.type()};
}

Done last_to_blocked(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedShape shape = BlockedShape::of(outputs[0].shape());
  const std::int64_t channels = call.in(0).shape()[3];
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  const float* from = x + (n * shape.pixels() + pixel) * channels + block * kBlock;
                  float* to = y + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  for (std::int64_t i = 0; i < pixels; ++i, from += channels, to += kBlock) {
                    std::copy(from, from + count, to);
                    if (count < kBlock) std::fill(to + count, to + kBlock, 0.0f);
                  }
                });
  return {};
}

Types infer_blocked_to_last(const Call& call) {
  const BlockedShape x = BlockedShape::of(call.in(0).shape());
  COMMENSAL_ASSIGN(const std::int64_t channels, channels_of(call));
  return std::vector{TensorType{tensor::DType::kFloat32, {x.batch, x.height, x.width, channels}}};
}

Done blocked_to_last(const Call& call, Outputs outputs, Workspace& ws) {
  const BlockedShape shape = BlockedShape::of(call.in(0).shape());
  const std::int64_t channels = outputs[0].shape()[3];
  const float* const x = call.in(0).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  for_each_part(shape, channels, ws.threads,
                [&](std::int64_t n, std::int64_t block, std::int64_t pixel, std::int64_t pixels,
                    std::int64_t count) {
                  const float* from =
                      x + (n * shape.blocks + block) * shape.plane() + pixel * kBlock;
                  float* to = y + (n * shape.pixels() + pixel) * channels + block * kBlock;
                  for (std::int64_t i = 0; i < pixels; ++i, from += kBlock, to += channels) {
                    std::copy(from, from + count, to);
                  }
                });
  return {};
}

}  // namespace commensal::kernels::cpu
