// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;

// Far above any use, far below where the arithmetic of places could overflow.
constexpr std::int64_t kWindowMax = std::int64_t{1} << 31;
constexpr int kSpatialRankMax = limits::kRankMax / 2;  // `pads` has two entries for each

core::Result<Dims> read_dims(const Call& call, std::string_view name, int count,
                             std::int64_t fallback, std::int64_t least) {
  COMMENSAL_ASSIGN(const auto given, call.attributes->integers(name));
  Dims dims{};
  std::fill_n(dims.begin(), count, fallback);
  if (given.empty()) return dims;
  if (static_cast<int>(given.size()) != count) {
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have {} entries, not {}", name,
                count, given.size());
  }
  for (const std::int64_t value : given) {
    if (value < least || value > kWindowMax) {
      return fail(ErrorCode::kInvalidArgument, "attribute '{}' has an entry of {}", name, value);
    }
  }
  std::copy(given.begin(), given.end(), dims.begin());
  return dims;
}

// SAME_*: as many outputs as strides fit, the odd pad at the end (UPPER) or the beginning (LOWER).
void pad_same(Window& w, std::size_t d, bool upper) {
  w.out[d] = (w.in[d] + w.stride[d] - 1) / w.stride[d];
  const std::int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
  const std::int64_t total =
      std::max<std::int64_t>((w.out[d] - 1) * w.stride[d] + extent - w.in[d], 0);
  w.pad_begin[d] = upper ? total / 2 : (total + 1) / 2;
  w.pad_end[d] = total - w.pad_begin[d];
}

core::Result<void> slide(Window& w, std::size_t d, bool ceil_mode) {
  const std::int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
  const std::int64_t room = w.in[d] + w.pad_begin[d] + w.pad_end[d] - extent;
  if (room < 0) {
    return fail(ErrorCode::kInvalidArgument,
                "a kernel of extent {} does not fit spatial dimension {} of {} (pads {} and {})",
                extent, d, w.in[d], w.pad_begin[d], w.pad_end[d]);
  }
  w.out[d] = room / w.stride[d] + 1;
  if (ceil_mode && room % w.stride[d] != 0 && w.out[d] * w.stride[d] < w.in[d] + w.pad_begin[d]) {
    ++w.out[d];  // a last window that starts inside the input or its first pad
  }
  return {};
}

}  // namespace

std::int64_t Window::product(const Dims& dims) const {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) elements *= dims[d];
  return elements;
}

Dims Window::split(std::int64_t position, const Dims& dims) const {
  Dims at{};
  for (int d = rank - 1; d >= 0; --d) {
    at[static_cast<std::size_t>(d)] = position % dims[static_cast<std::size_t>(d)];
    position /= dims[static_cast<std::size_t>(d)];
  }
  return at;
}

Window::Span Window::inside(std::size_t d, std::int64_t out) const {
  const std::int64_t first = out * stride[d] - pad_begin[d];
  const auto before = [&](std::int64_t place) {
    const std::int64_t room = std::max<std::int64_t>(place - first, 0);
    return std::min(kernel[d], (room + dilation[d] - 1) / dilation[d]);
  };
  const std::int64_t begin = before(0);
  return {begin, before(in[d]) - begin};
}

std::int64_t Window::taps_inside(const Dims& at) const {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) count *= inside(d, at[d]).count;
  return count;
}

std::int64_t Window::source(const Dims& at, const Dims& tap) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < static_cast<std::size_t>(rank); ++d) {
    const std::int64_t place = at[d] * stride[d] - pad_begin[d] + tap[d] * dilation[d];
    if (place < 0 || place >= in[d]) return -1;
    offset = offset * in[d] + place;
  }
  return offset;
}

core::Result<Window> window_of(const Call& call, const tensor::Shape& input,
                               std::span<const std::int64_t> kernel) {
  Window w;
  w.rank = input.rank() - 2;
  if (w.rank < 1 || w.rank > kSpatialRankMax || static_cast<int>(kernel.size()) != w.rank) {
    return fail(ErrorCode::kInvalidArgument,
                "input 0 must be [N, C, D...] with {} spatial dimensions (1 to {}), not {}",
                kernel.size(), kSpatialRankMax, input.text());
  }
  COMMENSAL_TRY(tensor::Shape::of(kernel));  // bounds the number of taps
  for (int d = 0; d < w.rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    w.in[at] = input[d + 2];
    w.kernel[at] = kernel[at];
    if (kernel[at] < 1 || kernel[at] > kWindowMax || w.in[at] > kWindowMax) {
      return fail(ErrorCode::kInvalidArgument, "a kernel of {} over a dimension of {}", kernel[at],
                  w.in[at]);
    }
  }
  COMMENSAL_ASSIGN(w.stride, read_dims(call, "strides", w.rank, 1, 1));
  COMMENSAL_ASSIGN(w.dilation, read_dims(call, "dilations", w.rank, 1, 1));
  COMMENSAL_ASSIGN(const Dims pads, read_dims(call, "pads", 2 * w.rank, 0, 0));
  COMMENSAL_ASSIGN(const std::int64_t ceil_mode, call.attributes->integer("ceil_mode", 0));
  COMMENSAL_ASSIGN(const std::string auto_pad, call.attributes->text("auto_pad", "NOTSET"));
  if (auto_pad != "NOTSET" && auto_pad != "" && auto_pad != "VALID" && auto_pad != "SAME_UPPER" &&
      auto_pad != "SAME_LOWER") {
    return fail(ErrorCode::kInvalidArgument, "attribute 'auto_pad' is '{}'", auto_pad);
  }
  for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
    if (auto_pad.starts_with("SAME")) {
      pad_same(w, d, auto_pad == "SAME_UPPER");
      continue;
    }
    if (auto_pad != "VALID") {
      w.pad_begin[d] = pads[d];
      w.pad_end[d] = pads[d + static_cast<std::size_t>(w.rank)];
    }
    COMMENSAL_TRY(slide(w, d, ceil_mode != 0));
  }
  return w;
}

}  // namespace commensal::kernels::shape_inference
