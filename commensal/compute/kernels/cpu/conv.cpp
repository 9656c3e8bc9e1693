// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/half_conv.hpp>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/cpu/depthwise.hpp>
#include <commensal/compute/kernels/cpu/few_places.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/cpu/window_columns.hpp>
#include <commensal/compute/kernels/cpu/winograd.hpp>
#include <commensal/compute/kernels/math/winograd.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <optional>
#include <vector>

namespace commensal::kernels::cpu {

namespace {

/// Whether the Winograd clause applies, whatever the size of the picture.
core::Result<bool> winograd_applies(const Call& call) {
  const tensor::Shape& w = call.in(1).shape();
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  COMMENSAL_ASSIGN(const auto strides, call.attributes->integers("strides"));
  COMMENSAL_ASSIGN(const auto dilations, call.attributes->integers("dilations"));
  const auto ones = [](const std::vector<std::int64_t>& list) {
    return std::ranges::all_of(list, [](std::int64_t v) { return v == 1; });
  };
  const math::WinogradShape shape = {.is_float32 = true,
                                     .spatial_rank = w.rank() - 2,
                                     .kernel_is_3x3 = w.rank() == 4 && w[2] == 3 && w[3] == 3 &&
                                                      group == 1 && ones(strides) &&
                                                      ones(dilations),
                                     .channels = w[1]};
  return math::winograd_tile(shape) != 0;
}

core::Result<std::shared_ptr<const ConvWeights>> weights_of(const Call& call, Isa isa,
                                                            bool may_transform, PackRoom room) {
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  COMMENSAL_ASSIGN(const bool applies, winograd_applies(call));
  return ConvWeights::of(call.pulse, kernels_for(isa), call.in(1), group, applies && may_transform,
                         room);
}

/// What the runs of a call have in common: made once for all runs of a node.
struct ConvCall {
  shape_inference::Conv conv;
  bool suits = false, reads_outside = false;
  std::optional<TapLayout> layout;  // where it suits

  static core::Result<ConvCall> of(const Call& call) {
    ConvCall made;
    COMMENSAL_ASSIGN(made.conv, shape_inference::conv_of(call));
    made.suits = TapLayout::suits(made.conv.window);
    made.reads_outside = cpu::reads_outside(made.conv.window);
    if (made.suits && made.conv.winograd_tile == 0) made.layout.emplace(made.conv.window);
    return made;
  }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(sizeof *this) + (layout ? layout->bytes() : 0);
  }
};

/// All products of a call, of which make(i) is the right matrix of image and group i.
template <class Make>
core::Result<void> multiply_groups(const shape_inference::Conv& conv, const Call& call,
                                   const ConvWeights& weights, const Make& make, Tensor& output,
                                   Workspace& ws) {
  const float* const bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* const y = output.mutable_data<float>().data();
  const std::int64_t rows = conv.group_out_channels(), places = conv.window.out_elements();
  Pulse pulse(&ws.threads);
  const auto product = [&](std::int64_t i, const ColumnSource& source) {
    pulse(64);
    const std::int64_t group = i % conv.group;
    return Product{.a = weights.group_rows(group),
                   .b = &source,
                   .c = y + i * rows * places,
                   .c_step = places,
                   .bias = bias == nullptr ? nullptr : bias + group * rows,
                   .bias_row_step = 1};
  };
  return multiply_each({.rows = rows, .depth = conv.depth(), .columns = places},
                       conv.batch * conv.group, make, product, ws);
}

core::Result<void> direct(const ConvCall& made, const Call& call, const ConvWeights& weights,
                          Tensor& output, Workspace& ws) {
  const shape_inference::Conv& conv = made.conv;
  const CpuKernels& kernels = kernels_for(ws.isa);
  const TapLayout& layout = *made.layout;
  const float* const x = call.in(0).data<float>().data();
  const std::int64_t channels = conv.group_channels();
  if (layout.is_pointwise()) {
    const std::int64_t plane = conv.window.in_elements();
    const auto in_place = [&](std::int64_t i) {
      return MatrixColumns(kernels, x + i * channels * plane, plane, 1);
    };
    return multiply_groups(conv, call, weights, in_place, output, ws);
  }
  Room room;
  COMMENSAL_ASSIGN(const float* const planes,
                   split_planes(layout, x, conv.batch * conv.channels, ws, room));
  const auto copied = [&](std::int64_t i) {
    return TapColumns(kernels, layout, planes + i * channels * layout.plane_floats(), channels);
  };
  return multiply_groups(conv, call, weights, copied, output, ws);
}

/// Whether most taps of most outputs read an input: the judge walks only those that do.
bool is_dense(const shape_inference::Window& window) {
  for (std::size_t d = 0; d < static_cast<std::size_t>(window.rank); ++d) {
    if (window.kernel[d] > 2 * window.in[d]) return false;
  }
  return true;
}

/// Of any rank, stride and dilation.
core::Result<void> by_window(const shape_inference::Conv& conv, const Call& call,
                             const ConvWeights& weights, Tensor& output, Workspace& ws) {
  const float* const x = call.in(0).data<float>().data();
  const std::int64_t channels = conv.group_channels(), plane = conv.window.in_elements();
  const auto gathered = [&](std::int64_t i) {
    return WindowColumns(kernels_for(ws.isa), conv.window, x + i * channels * plane, channels);
  };
  return multiply_groups(conv, call, weights, gathered, output, ws);
}

/// `may_transform`: the Winograd clause, which is binary32's alone, may apply.
core::Result<bool> conv_served(const ConvCall& parsed, const Call& call, std::span<Tensor> outputs,
                               Workspace& ws, bool may_transform) {
  const shape_inference::Conv& conv = parsed.conv;
  if (call.in(0).dtype() != tensor::DType::kFloat32) return false;
  if (outputs[0].elements() == 0) return true;
  if (conv.group_channels() == 0) return false;  // no plane to read a row of depth from
  if (ws.packed == nullptr && suits_few_places(conv)) {
    COMMENSAL_ASSIGN(const bool served, conv_of_few_places(conv, call, outputs[0], ws));
    if (served) return true;
  }
  std::shared_ptr<const ConvWeights> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, weights_of(call, ws.isa, may_transform, PackRoom(ws.arena)));
  }
  const auto& weights = ws.packed == nullptr ? *made : static_cast<const ConvWeights&>(*ws.packed);
  const bool suits = parsed.suits;
  // Padded taps are skipped. Filling them with zeros is the same, but for weights like infinity.
  const bool is_judged = suits ? !weights.all_finite() && parsed.reads_outside
                               : !weights.all_finite() || !is_dense(conv.window);
  if (conv.winograd_tile != 0 ? !suits : is_judged) return false;
  if (conv.winograd_tile != 0) {
    COMMENSAL_TRY(winograd(conv, call, weights, outputs[0], ws));
  } else if (!suits) {
    COMMENSAL_TRY(by_window(conv, call, weights, outputs[0], ws));
  } else if (suits_depthwise(conv)) {
    COMMENSAL_TRY(depthwise(conv, *parsed.layout, call, outputs[0], ws));
  } else {
    COMMENSAL_TRY(direct(parsed, call, weights, outputs[0], ws));
  }
  return true;
}

}  // namespace

core::Result<std::shared_ptr<const Packed>> pack_conv(const Call& call, Isa isa) {
  if (call.has(1) && is_half(call.in(1).dtype())) return pack_half_conv(call, isa);
  if (!call.has(1) || call.in(1).dtype() != tensor::DType::kFloat32 ||
      call.in(1).shape().rank() < 3) {
    return nullptr;
  }
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  if (group < 1 || call.in(1).shape()[0] % group != 0) return nullptr;  // infer will refuse it
  return weights_of(call, isa, true, PackRoom());
}

core::Result<void> conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (is_half(call.in(0).dtype()) && ws.packed != nullptr) {
    COMMENSAL_ASSIGN(const bool served, half_conv(call, outputs[0], ws));
    if (served) return {};
  }
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of([&] { return ConvCall::of(call); }));
  const bool may_transform = call.in(0).dtype() == tensor::DType::kFloat32;
  return serve(call, outputs, ws, ref::kConv,
               [&parsed, may_transform](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return conv_served(*parsed, own, made, space, may_transform);
               });
}

}  // namespace commensal::kernels::cpu
