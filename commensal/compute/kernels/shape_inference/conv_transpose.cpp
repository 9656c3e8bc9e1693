// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/conv_transpose.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using tensor::Shape;

namespace {

constexpr std::int64_t kPlaceMax = std::int64_t{1} << 31;

core::Result<std::vector<std::int64_t>> list_of(const Call& call, std::string_view name,
                                                std::size_t count, std::int64_t fallback) {
  COMMENSAL_ASSIGN(auto given, call.attributes->integers(name));
  if (given.empty()) given.assign(count, fallback);
  if (given.size() != count) {
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have {} entries, not {}", name,
                count, given.size());
  }
  for (const std::int64_t value : given) {
    if (value >= fallback && value < kPlaceMax) continue;
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' has an entry of {}", name, value);
  }
  return given;
}

// Takes the pads off `out`, which is everything that the kernel reaches.
core::Result<void> set_pads(const Call& call, Window& window) {
  const auto count = static_cast<std::size_t>(window.rank);
  COMMENSAL_ASSIGN(const std::string auto_pad, call.attributes->text("auto_pad", "NOTSET"));
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  if (!same && auto_pad != "NOTSET" && auto_pad != "" && auto_pad != "VALID") {
    return fail(ErrorCode::kInvalidArgument, "attribute 'auto_pad' is '{}'", auto_pad);
  }
  const bool stated = call.attributes->has("output_shape");
  COMMENSAL_ASSIGN(const auto sizes, list_of(call, "output_shape", count, 0));
  // Until opset 10 ONNX's text has the odd pad the other way round for explicit shapes.
  const bool odd_at_end = auto_pad == "SAME_UPPER" || (!same && call.opset < 11);
  for (std::size_t d = 0; d < count; ++d) {
    if (auto_pad == "VALID") window.pad_begin[d] = window.pad_end[d] = 0;
    if (stated || same) {
      const std::int64_t size = stated ? sizes[d] : window.in[d] * window.stride[d];
      const std::int64_t total = window.out[d] - size;
      const std::int64_t half = total < 0 ? total : total / 2;  // below 0: zeros at the end
      window.pad_begin[d] = odd_at_end && total > 0 ? half : total - half;
      window.pad_end[d] = total - window.pad_begin[d];
    }
    window.out[d] -= window.pad_begin[d] + window.pad_end[d];
    if (window.out[d] < 0 || window.out[d] > kPlaceMax) {
      return fail(ErrorCode::kInvalidArgument, "spatial dimension {} of the output would be {}", d,
                  window.out[d]);
    }
  }
  return {};
}

core::Result<void> set_window(const Call& call, Window& window) {
  const Shape &x = call.in(0).shape(), &w = call.in(1).shape();
  const auto count = static_cast<std::size_t>(x.rank() - 2);
  window.rank = x.rank() - 2;
  COMMENSAL_ASSIGN(const auto strides, list_of(call, "strides", count, 1));
  COMMENSAL_ASSIGN(const auto dilations, list_of(call, "dilations", count, 1));
  COMMENSAL_ASSIGN(const auto pads, list_of(call, "pads", 2 * count, 0));
  COMMENSAL_ASSIGN(const auto output_pads, list_of(call, "output_padding", count, 0));
  COMMENSAL_ASSIGN(const auto stated, call.attributes->integers("kernel_shape"));
  if (!stated.empty() && !std::ranges::equal(stated, w.dims().subspan(2))) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'kernel_shape' disagrees with the weights {}", w.text());
  }
  for (std::size_t d = 0; d < count; ++d) {
    window.in[d] = x[static_cast<int>(d) + 2];
    window.kernel[d] = w[static_cast<int>(d) + 2];
    window.stride[d] = strides[d];
    window.dilation[d] = dilations[d];
    window.pad_begin[d] = pads[d];
    window.pad_end[d] = pads[d + count];
    if (window.in[d] < 1 || window.kernel[d] < 1 || window.in[d] > kPlaceMax ||
        window.kernel[d] > kPlaceMax) {
      return fail(ErrorCode::kInvalidArgument, "a kernel of {} over a dimension of {}",
                  window.kernel[d], window.in[d]);
    }
    // Both products stay below 2^62.
    window.out[d] = strides[d] * (window.in[d] - 1) + output_pads[d] +
                    (window.kernel[d] - 1) * dilations[d] + 1;
  }
  return set_pads(call, window);
}

}  // namespace

core::Result<ConvTranspose> conv_transpose_of(const Call& call) {
  COMMENSAL_TRY(check_same_dtype(call, 1));
  COMMENSAL_TRY(check_same_dtype(call, 2));
  const Shape &x = call.in(0).shape(), &w = call.in(1).shape();
  ConvTranspose plan;
  COMMENSAL_ASSIGN(plan.group, call.attributes->integer("group", 1));
  if (x.rank() < 3 || x.rank() > limits::kRankMax / 2 + 2 || w.rank() != x.rank() || w[0] != x[1] ||
      plan.group < 1 || x[1] % plan.group != 0 || w[1] > kPlaceMax / plan.group) {
    return fail(ErrorCode::kInvalidArgument,
                "weights {} do not fit input {} in {} groups (expected [C, O/groups, ...])",
                w.text(), x.text(), plan.group);
  }
  plan.batch = x[0];
  plan.channels = x[1];
  plan.out_channels = w[1] * plan.group;
  plan.has_bias = call.has(2);
  if (plan.has_bias && call.in(2).shape() != Shape{plan.out_channels}) {
    return fail(ErrorCode::kInvalidArgument, "the bias must be [{}], not {}", plan.out_channels,
                call.in(2).shape().text());
  }
  COMMENSAL_TRY(set_window(call, plan.window));
  std::vector<std::int64_t> dims = {x[0], plan.out_channels};
  dims.insert(dims.end(), plan.window.out.begin(), plan.window.out.begin() + plan.window.rank);
  COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
  plan.to = {call.in(0).dtype(), shape};
  return plan;
}

}  // namespace commensal::kernels::shape_inference
