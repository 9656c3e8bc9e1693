// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/arbiter/geometry.hpp>

namespace commensal::arbiter {
namespace {

// Far above any use, far below where the arithmetic of places could overflow.
constexpr std::int64_t kExtentMax = std::int64_t{1} << 31;

core::Result<Dims> entries(const NodeText& node, std::string_view name, std::size_t count,
                           std::int64_t fallback, std::int64_t least) {
  Dims given = node.integers(name);
  if (given.empty()) return Dims(count, fallback);
  const auto is_sane = [least](std::int64_t v) { return v >= least && v <= kExtentMax; };
  if (given.size() != count || !std::ranges::all_of(given, is_sane)) {
    return core::fail(core::ErrorCode::kUnsupported, "attribute '{}'", name);
  }
  return given;
}

// Whether the product of positive numbers stays within `most`, without overflow.
bool product_within(const Dims& dims, std::int64_t most) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) {
    if (dim > most / all) return false;
    all *= dim;
  }
  return true;
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

// False where the kernel does not fit.
bool slide(Window& w, std::size_t d, bool ceil_mode) {
  const std::int64_t extent = (w.kernel[d] - 1) * w.dilation[d] + 1;
  const std::int64_t room = w.in[d] + w.pad_begin[d] + w.pad_end[d] - extent;
  if (room < 0) return false;
  w.out[d] = room / w.stride[d] + 1;
  // A last window that begins inside the input or its first pad.
  const bool begins = w.out[d] * w.stride[d] < w.in[d] + w.pad_begin[d];
  if (ceil_mode && room % w.stride[d] != 0 && begins) ++w.out[d];
  return true;
}

}  // namespace

Dims dims_of(const Shaped& type) {
  Dims dims;
  for (std::size_t d = 0; d < type.dims.size(); ++d) dims.push_back(type.dim(d));
  return dims;
}

Shaped shaped(std::uint8_t dtype, const Dims& dims) {
  Shaped type{dtype, {}};
  for (const std::int64_t dim : dims) type.dims.push_back(static_cast<std::uint64_t>(dim));
  return type;
}

std::int64_t product(std::span<const std::int64_t> dims) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) all *= dim;
  return all;
}

Dims split(std::int64_t position, std::span<const std::int64_t> dims) {
  Dims at(dims.size());
  for (std::size_t d = dims.size(); d-- > 0;) {
    at[d] = position % dims[d];
    position /= dims[d];
  }
  return at;
}

std::int64_t join(std::span<const std::int64_t> at, std::span<const std::int64_t> dims) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < dims.size(); ++d) position = position * dims[d] + at[d];
  return position;
}

std::int64_t normal_axis(std::int64_t axis, std::int64_t rank) {
  if (axis < -rank || axis >= rank) return -1;
  return axis < 0 ? axis + rank : axis;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims made(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < made.size(); ++i) {  // from the last dimension on
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    made[made.size() - 1 - i] = x == 1 ? y : x;
  }
  return made;
}

std::int64_t broadcast_source(std::int64_t position, const Dims& to, const Dims& from) {
  std::int64_t source = 0, stride = 1;
  for (std::size_t i = 0; i < from.size(); ++i) {  // from the last dimension on
    const std::int64_t dim = to[to.size() - 1 - i], own = from[from.size() - 1 - i];
    if (own != 1) source += position % dim * stride;
    stride *= own;
    position /= dim;
  }
  return source;
}

AxisView view_of(const Dims& dims, std::int64_t axis) {
  const auto at = static_cast<std::size_t>(axis);
  return {dims[at], product(std::span(dims).subspan(at + 1))};
}

std::int64_t Window::source(const Dims& at, const Dims& tap) const {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < in.size(); ++d) {
    const std::int64_t place = at[d] * stride[d] - pad_begin[d] + tap[d] * dilation[d];
    if (place < 0 || place >= in[d]) return -1;
    offset = offset * in[d] + place;
  }
  return offset;
}

core::Result<Window> window_of(const NodeText& node, const Dims& in, const Dims& kernel) {
  const auto misfit = core::fail(core::ErrorCode::kUnsupported, "a kernel that does not fit");
  Window w{in, Dims(in.size()), kernel, {}, {}, Dims(in.size()), Dims(in.size())};
  const auto is_sane = [](std::int64_t v) { return v >= 1 && v <= kExtentMax; };
  if (in.empty() || in.size() != kernel.size() || !std::ranges::all_of(kernel, is_sane) ||
      std::ranges::any_of(in, [](std::int64_t v) { return v > kExtentMax; }) ||
      !product_within(kernel, kTapsMax)) {
    return misfit;
  }
  COMMENSAL_ASSIGN(w.stride, entries(node, "strides", in.size(), 1, 1));
  COMMENSAL_ASSIGN(w.dilation, entries(node, "dilations", in.size(), 1, 1));
  COMMENSAL_ASSIGN(const Dims pads, entries(node, "pads", 2 * in.size(), 0, 0));
  const std::string auto_pad = node.text("auto_pad", "NOTSET");
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (auto_pad.starts_with("SAME")) {
      pad_same(w, d, auto_pad == "SAME_UPPER");
      continue;
    }
    if (auto_pad != "VALID") {
      w.pad_begin[d] = pads[d];
      w.pad_end[d] = pads[d + in.size()];
    }
    if (!slide(w, d, node.integer("ceil_mode", 0) != 0)) return misfit;
  }
  return w;
}

}  // namespace commensal::arbiter
