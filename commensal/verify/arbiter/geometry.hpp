// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/verify/arbiter/node.hpp>

/// Where elements lie. Row-major positions, coordinates, windows; pure functions.
namespace commensal::arbiter {

using Dims = std::vector<std::int64_t>;

Dims dims_of(const Shaped& type);
Shaped shaped(std::uint8_t dtype, const Dims& dims);
std::int64_t product(std::span<const std::int64_t> dims);
/// Position -> coordinates. Precondition: no dimension is 0.
Dims split(std::int64_t position, std::span<const std::int64_t> dims);
std::int64_t join(std::span<const std::int64_t> at, std::span<const std::int64_t> dims);
/// 0..rank-1, or -1 for an axis that is none.
std::int64_t normal_axis(std::int64_t axis, std::int64_t rank);

/// numpy's rule; nothing where the shapes do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
/// The position in `from` of what lies at `position` of `to`, over which it is broadcast.
std::int64_t broadcast_source(std::int64_t position, const Dims& to, const Dims& from);

/// A shape cut at one axis: position = (outer * length + along) * inner_size + inner.
struct AxisView {
  std::int64_t length = 1, inner_size = 1;
  std::int64_t outer(std::int64_t position) const { return position / inner_size / length; }
  std::int64_t along(std::int64_t position) const { return position / inner_size % length; }
  std::int64_t inner(std::int64_t position) const { return position % inner_size; }
  std::int64_t position(std::int64_t outer, std::int64_t along, std::int64_t inner) const {
    return (outer * length + along) * inner_size + inner;
  }
};
AxisView view_of(const Dims& dims, std::int64_t axis);

/// Taps, neighbours: what a program goes through one by one.
inline constexpr std::int64_t kTapsMax = std::int64_t{1} << 20;

/// The sliding window of Conv and the pools: attributes resolved.
struct Window {
  Dims in, out, kernel, stride, dilation, pad_begin, pad_end;

  std::int64_t taps() const { return product(kernel); }
  /// Offset within the spatial dimensions of the input, or -1 in the padding.
  std::int64_t source(const Dims& at, const Dims& tap) const;
};
/// Error: kUnsupported for attributes that no importer lets through.
core::Result<Window> window_of(const NodeText& node, const Dims& in, const Dims& kernel);

}  // namespace commensal::arbiter
