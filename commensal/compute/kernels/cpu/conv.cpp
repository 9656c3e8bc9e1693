// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/half_conv.hpp>
#include <commensal/compute/kernels/cpu/conv_weights.hpp>
#include <commensal/compute/kernels/cpu/depthwise.hpp>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/cpu/window_columns.hpp>
#include <commensal/compute/kernels/cpu/winograd.hpp>
#include <commensal/compute/kernels/math/winograd.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
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
                                                            bool may_transform, Room room) {
  COMMENSAL_ASSIGN(const std::int64_t group, call.attributes->integer("group", 1));
  COMMENSAL_ASSIGN(const bool applies, winograd_applies(call));
  return ConvWeights::of(call.pulse, kernels_for(isa), call.in(1), group, applies && may_transform,
                         room);
}

core::Result<void> direct(const shape_inference::Conv& conv, const Call& call,
                          const ConvWeights& weights, Tensor& output, Workspace& ws) {
  const CpuKernels& kernels = kernels_for(ws.isa);
  const TapLayout layout(conv.window);
  const bool in_place = layout.is_pointwise();
  const float* planes = call.in(0).data<float>().data();
  const float* bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* y = output.mutable_data<float>().data();
  const std::int64_t plane = in_place ? conv.window.in_elements() : layout.plane_floats();
  const std::int64_t out_plane = conv.window.out_elements(), rows = conv.group_out_channels();
  std::shared_ptr<float> copied;
  if (!in_place) {
    COMMENSAL_ASSIGN(copied, split_planes(layout, planes, conv.batch * conv.channels, ws));
    planes = copied.get();
  }
  std::vector<std::unique_ptr<ColumnSource>> sources;
  std::vector<Product> products;
  Pulse pulse(&ws.threads);
  for (std::int64_t i = 0; i < conv.batch * conv.group; ++i) {
    pulse(64);
    const float* from = planes + i * conv.group_channels() * plane;
    if (in_place) {
      sources.push_back(std::make_unique<MatrixColumns>(kernels, from, plane, 1));
    } else {
      sources.push_back(std::make_unique<TapColumns>(kernels, layout, from, conv.group_channels()));
    }
    products.push_back({.a = weights.group_rows(i % conv.group),
                        .b = sources.back().get(),
                        .c = y + i * rows * out_plane,
                        .c_step = out_plane,
                        .bias = bias == nullptr ? nullptr : bias + i % conv.group * rows,
                        .bias_row_step = 1});
  }
  return multiply({.rows = rows, .depth = conv.depth(), .columns = out_plane}, products, ws);
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
  const std::int64_t rows = conv.group_out_channels(), places = conv.window.out_elements();
  const float* const x = call.in(0).data<float>().data();
  const float* const bias = conv.has_bias ? call.in(2).data<float>().data() : nullptr;
  float* const y = output.mutable_data<float>().data();
  std::vector<WindowColumns> sources;
  std::vector<Product> products;
  sources.reserve(static_cast<std::size_t>(conv.batch * conv.group));
  for (std::int64_t i = 0; i < conv.batch * conv.group; ++i) {
    const std::int64_t group = i % conv.group;
    sources.emplace_back(kernels_for(ws.isa), conv.window,
                         x + i * conv.group_channels() * conv.window.in_elements(),
                         conv.group_channels());
    products.push_back({.a = weights.group_rows(group),
                        .b = &sources.back(),
                        .c = y + i * rows * places,
                        .c_step = places,
                        .bias = bias == nullptr ? nullptr : bias + group * rows,
                        .bias_row_step = 1});
  }
  return multiply({.rows = rows, .depth = conv.depth(), .columns = places}, products, ws);
}

/// `may_transform`: the Winograd clause, which is binary32's alone, may apply.
core::Result<bool> conv_served(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                               bool may_transform) {
  COMMENSAL_ASSIGN(shape_inference::Conv conv, shape_inference::conv_of(call));
  if (conv.dtype != tensor::DType::kFloat32) return false;
  if (outputs[0].elements() == 0) return true;
  if (conv.group_channels() == 0) return false;  // no plane to read a row of depth from
  if (!may_transform) conv.winograd_tile = 0;
  std::shared_ptr<const ConvWeights> made;  // where the weights are not constant
  if (ws.packed == nullptr) {
    COMMENSAL_ASSIGN(made, weights_of(call, ws.isa, may_transform, Room(ws.arena)));
  }
  const auto& weights = ws.packed == nullptr ? *made : static_cast<const ConvWeights&>(*ws.packed);
  const bool suits = TapLayout::suits(conv.window);
  // Padded taps are skipped. Filling them with zeros is the same, but for weights like infinity.
  const bool is_judged = suits ? !weights.all_finite() && reads_outside(conv.window)
                               : !weights.all_finite() || !is_dense(conv.window);
  if (conv.winograd_tile != 0 ? !suits : is_judged) return false;
  if (conv.winograd_tile != 0) {
    COMMENSAL_TRY(winograd(conv, call, weights, outputs[0], ws));
  } else if (!suits) {
    COMMENSAL_TRY(by_window(conv, call, weights, outputs[0], ws));
  } else if (suits_depthwise(conv)) {
    COMMENSAL_TRY(depthwise(conv, call, outputs[0], ws));
  } else {
    COMMENSAL_TRY(direct(conv, call, weights, outputs[0], ws));
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
  return weights_of(call, isa, true, Room());
}

core::Result<void> conv(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  if (is_half(call.in(0).dtype()) && ws.packed != nullptr) {
    COMMENSAL_ASSIGN(const bool served, half_conv(call, outputs[0], ws));
    if (served) return {};
  }
  const bool may_transform = call.in(0).dtype() == tensor::DType::kFloat32;
  return serve(call, outputs, ws, ref::kConv,
               [may_transform](const Call& own, std::span<Tensor> made, Workspace& space) {
                 return conv_served(own, made, space, may_transform);
               });
}

}  // namespace commensal::kernels::cpu
