// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/ref/weighted.hpp>
#include <memory>
#include <span>
#include <vector>

/// Where the outputs of Resize, GridSample and others look, for kernels that make many at once.
namespace commensal::kernels::ref {

/// The taps of place i along an axis: [begin[i], begin[i + 1]). None: outside of the input.
struct AxisTaps {
  std::int64_t in = 0, out = 0;
  bool still = true;  // place i has one tap, i; it is not listed
  std::vector<std::int64_t> begin;
  Taps taps;
};

/// A call of Resize or Upsample. The taps of an output element are every combination of one tap
/// for each axis, row-major, weights multiplied in the order of the axes.
struct Resizing {
  TensorType from, to;
  bool copies = false;         // an element is its tap, bit for bit
  float outside = 0;           // the element without taps
  bool is_listed = true;       // false: there are too many taps
  std::vector<AxisTaps> axes;  // the last dimensions, from the first that moves on
};
/// Error: as `infer` has it.
core::Result<Resizing> resizing_of(const Call& call);

/// The taps of several places: tap k of place p at [k * step + p], its index within a plane. A
/// weight of 0 is no tap (of a maximum: +0).
struct TapTable {
  std::int64_t step = 0;
  std::span<std::int32_t> index;
  std::span<float> weights;

  static std::int64_t step_of(std::int64_t places) { return (places + 15) / 16 * 16; }
  void set(std::int64_t tap, std::int64_t place, std::int64_t at, float weight) const {
    index[static_cast<std::size_t>(tap * step + place)] = static_cast<std::int32_t>(at);
    weights[static_cast<std::size_t>(tap * step + place)] = weight;
  }
};

/// Output [groups, channels, places]: the same taps for all channels of a group, of one image.
/// Thread-safety: const.
class Sampling {
 public:
  virtual ~Sampling() = default;
  virtual TensorType from() const = 0;
  virtual std::int64_t groups() const = 0;
  virtual std::int64_t image(std::int64_t group) const = 0;
  virtual std::int64_t taps(std::int64_t group) const = 0;  // of a place, at most
  virtual float divisor(std::int64_t) const { return 1; }   // of a group's sums
  virtual bool copies() const { return false; }
  virtual bool takes_maximum() const { return false; }
  /// The taps of places [first, first + count) of a group.
  virtual void fill(const Call& call, std::int64_t group, std::int64_t first, std::int64_t count,
                    const TapTable& table) const = 0;
};
/// Of the call's types and attributes alone. Errors: as `infer` has it.
core::Result<std::unique_ptr<const Sampling>> grid_sampling(const Call& call);
/// Error: as `infer` has it.
core::Result<std::unique_ptr<const Sampling>> roi_sampling(const Call& call);

/// Of AffineGrid: place i of n along an axis, in [-1, 1].
template <class C>
C grid_place(std::int64_t i, std::int64_t n, bool align_corners) {
  const auto length = static_cast<C>(n);
  const C step = !align_corners ? 2 / length : n == 1 ? C{0} : 2 / (length - 1);
  const C start = align_corners ? C{-1} : -1 + step / 2;
  return start + static_cast<C>(i) * step;
}

}  // namespace commensal::kernels::ref
