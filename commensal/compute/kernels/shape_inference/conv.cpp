// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/math/winograd.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

core::Result<void> check_kernel_shape(const Call& call, const Shape& w) {
  COMMENSAL_ASSIGN(const auto stated, call.attributes->integers("kernel_shape"));
  if (stated.empty() || std::ranges::equal(stated, w.dims().subspan(2))) return {};
  return fail(ErrorCode::kInvalidArgument, "attribute 'kernel_shape' disagrees with the weights {}",
              w.text());
}

core::Result<void> check_channels(const Call& call, const ConvInputs& inputs, const Conv& conv) {
  const Shape &x = call.in(inputs.x).shape(), &w = call.in(inputs.w).shape();
  if (conv.group < 1 || conv.channels % conv.group != 0 || conv.out_channels % conv.group != 0 ||
      w[1] != conv.channels / conv.group) {
    return fail(ErrorCode::kInvalidArgument,
                "weights {} do not fit input {} in {} groups (expected [O, C/groups, ...])",
                w.text(), x.text(), conv.group);
  }
  if (conv.has_bias && call.in(inputs.bias).shape() != Shape{conv.out_channels}) {
    return fail(ErrorCode::kInvalidArgument, "the bias must be [{}], not {}", conv.out_channels,
                call.in(inputs.bias).shape().text());
  }
  return {};
}

int tile_of(const Conv& conv) {
  const Window& w = conv.window;
  const auto all_are = [](const Dims& dims, std::int64_t value) {
    return dims[0] == value && dims[1] == value;
  };
  return math::winograd_tile({.is_float32 = conv.dtype == tensor::DType::kFloat32,
                              .spatial_rank = w.rank,
                              .kernel_is_3x3 = all_are(w.kernel, 3) && all_are(w.stride, 1) &&
                                               all_are(w.dilation, 1) && conv.group == 1,
                              .channels = conv.channels,
                              .out_height = w.out[0],
                              .out_width = w.out[1]});
}

}  // namespace

core::Result<Conv> conv_of(const Call& call) {
  COMMENSAL_TRY(check_dtype<ref::Products>(call, 0));
  COMMENSAL_TRY(check_same_dtype(call, 1));
  COMMENSAL_TRY(check_same_dtype(call, 2));
  return conv_of(call, ConvInputs{});
}

core::Result<Conv> conv_of(const Call& call, const ConvInputs& inputs) {
  const Shape &x = call.in(inputs.x).shape(), &w = call.in(inputs.w).shape();
  if (x.rank() < 3 || w.rank() != x.rank()) {
    return fail(ErrorCode::kInvalidArgument,
                "input {} and weights {} must have one rank, 3 or more", x.text(), w.text());
  }
  Conv conv;
  conv.dtype = call.in(inputs.x).dtype();
  conv.batch = x[0];
  conv.channels = x[1];
  conv.out_channels = w[0];
  conv.has_bias = inputs.bias >= 0 && call.has(inputs.bias);
  COMMENSAL_ASSIGN(conv.group, call.attributes->integer("group", 1));
  COMMENSAL_TRY(check_channels(call, inputs, conv));
  COMMENSAL_TRY(check_kernel_shape(call, w));
  COMMENSAL_ASSIGN(conv.window, window_of(call, x, w.dims().subspan(2)));
  conv.winograd_tile = tile_of(conv);
  std::vector<std::int64_t> dims = {conv.batch, conv.out_channels};
  dims.insert(dims.end(), conv.window.out.begin(), conv.window.out.begin() + conv.window.rank);
  COMMENSAL_TRY(Shape::of(dims));
  return conv;
}

TensorType conv_type(const Conv& conv) {
  std::vector<std::int64_t> dims = {conv.batch, conv.out_channels};
  dims.insert(dims.end(), conv.window.out.begin(), conv.window.out.begin() + conv.window.rank);
  return {conv.dtype, *Shape::of(dims)};
}

}  // namespace commensal::kernels::shape_inference
