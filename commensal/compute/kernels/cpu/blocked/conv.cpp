// SPDX-License-Identifier: Apache-2.0
// Conv on blocked pictures: what is common to its ways, and which is taken.
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/blocked/direct_rows.hpp>
#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <commensal/compute/kernels/cpu/blocked/plan.hpp>
#include <commensal/compute/kernels/cpu/constant.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::kernels::cpu {

namespace {

enum Input { kX, kWeights, kBias, kResidual };

/// The call as Conv would see it: X in its usual shape. The elements are not looked at.
core::Result<shape_inference::Conv> conv_of(const Call& call, bool from_picture) {
  const tensor::Shape& x = call.in(kX).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  const std::int64_t channels = call.in(kWeights).shape()[1] * group;
  const TensorType plain{tensor::DType::kFloat32,
                         from_picture ? x : tensor::Shape{x[0], channels, x[2], x[3]}};
  const Tensor picture = tensor::stand_in(plain);
  const Tensor* inputs[] = {&picture, &call.in(kWeights),
                            call.has(kBias) ? &call.in(kBias) : nullptr};
  Call usual;
  usual.opset = call.opset;
  usual.attributes = call.attributes;
  usual.inputs = inputs;
  return shape_inference::conv_of(usual);
}

struct PackedConv final : Packed {
  explicit PackedConv(std::shared_ptr<const BlockedWeights> made) : weights(std::move(made)) {}
  std::shared_ptr<const Packed> another(const Call&) const override {
    return std::make_shared<const PackedConv>(weights);
  }

  const std::shared_ptr<const BlockedWeights> weights;
  mutable LastCall last;  // of one node
};

}  // namespace

std::optional<BlockedConvPlan> plan_blocked_conv(const Call& call) {
  if (call.in(kX).dtype() != tensor::DType::kFloat32 || call.in(kX).shape().rank() != 4) {
    return std::nullopt;
  }
  const auto conv = shape_inference::conv_of(call);
  if (!conv) return std::nullopt;
  const auto way = way_of(*conv);
  // +0 around a picture is as good as no tap only where weights are finite.
  if (!way || !Constant(call.in(kWeights)).all_finite()) return std::nullopt;
  constexpr std::int64_t kFewChannels = 4;
  return BlockedConvPlan{static_cast<std::int64_t>(*way), conv->winograd_tile,
                         *way == ConvWay::kDirect && conv->channels <= kFewChannels};
}

core::Result<BlockedConv> BlockedConv::of(const Call& call) {
  BlockedConv made;
  COMMENSAL_ASSIGN(const std::int64_t picture, call.attributes->integer("picture", 0));
  made.from_picture = picture != 0;
  COMMENSAL_ASSIGN(made.conv, conv_of(call, made.from_picture));
  made.finish.clamps = call.attributes->has("low");
  COMMENSAL_ASSIGN(made.finish.low, call.attributes->real("low", 0));
  COMMENSAL_ASSIGN(made.finish.high, call.attributes->real("high", 0));
  COMMENSAL_ASSIGN(const std::int64_t gate, call.attributes->integer("gate", 0));
  if (gate == static_cast<std::int64_t>(Role::kSigmoid)) made.gate = Gate::kSigmoid;
  if (gate == static_cast<std::int64_t>(Role::kHardSigmoid)) made.gate = Gate::kHardSigmoid;
  COMMENSAL_ASSIGN(made.alpha, call.attributes->real("alpha", 0));
  COMMENSAL_ASSIGN(made.beta, call.attributes->real("beta", 0));
  made.x = call.in(kX).data<float>().data();
  if (call.has(kResidual)) made.finish.residual = call.in(kResidual).data<float>().data();
  return made;
}

core::Result<std::shared_ptr<const BlockedConv>> LastCall::of(const Call& call) {
  const std::lock_guard lock(mutex_);
  const Tensor& x = call.in(kX);
  if (read_ == nullptr || x.shape() != x_.shape || x.dtype() != x_.dtype) {
    COMMENSAL_ASSIGN(BlockedConv made, BlockedConv::of(call));
    made.runs = DirectRows::runs_of(made);
    read_ = std::make_shared<const BlockedConv>(std::move(made));
    x_ = x.type();
  }
  return read_;
}

core::Result<std::vector<TensorType>> infer_blocked_conv(const Call& call) {
  COMMENSAL_ASSIGN(const BlockedConv conv, BlockedConv::of(call));
  return std::vector{conv.out().type()};
}

core::Result<std::shared_ptr<const Packed>> pack_blocked_conv(const Call& call, Isa isa) {
  // The way depends on the size of the picture, which the planner has put down.
  COMMENSAL_ASSIGN(const std::int64_t way, call.attributes->integer("way", 0));
  COMMENSAL_ASSIGN(const std::int64_t tile, call.attributes->integer("winograd_tile", 0));
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  return std::make_shared<const PackedConv>(std::make_shared<const BlockedWeights>(
      blocked_kernels_for(isa), static_cast<ConvWay>(way), static_cast<int>(tile),
      call.in(kWeights).read_once(), call.has(kBias) ? &call.in(kBias) : nullptr, group,
      call.store));
}

core::Result<void> blocked_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  const auto& packed = static_cast<const PackedConv&>(*ws.packed);
  COMMENSAL_ASSIGN(const auto read, packed.last.of(call));
  BlockedConv conv = *read;
  conv.x = call.in(kX).data<float>().data();
  conv.finish.residual = call.has(kResidual) ? call.in(kResidual).data<float>().data() : nullptr;
  const BlockedWeights& weights = *packed.weights;
  conv.finish.bias = weights.bias();
  conv.y = outputs[0].mutable_data<float>().data();
  switch (weights.way()) {
    case ConvWay::kDirect:
      return blocked_direct(conv, weights, ws);
    case ConvWay::kWinograd:
      return blocked_winograd(conv, weights, ws);
    case ConvWay::kDepthwise:
    case ConvWay::kGrouped:
      break;
  }
  return blocked_lanes(conv, weights, ws);
}

}  // namespace commensal::kernels::cpu
