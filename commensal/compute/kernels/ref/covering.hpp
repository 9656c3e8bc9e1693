// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <numeric>
#include <utility>

/// Windows that lie over an element, of those that slide over a picture: what Conv and Unfold read,
/// turned round.
namespace commensal::kernels::ref {

/// Taps t = begin, begin + step, ...
struct TapSeries {
  std::int64_t begin = 0, step = 1, count = 0;
};

/// The inverse of `a` modulo `m`, which have no common divisor (Euclid's algorithm, extended).
inline std::int64_t inverse(std::int64_t a, std::int64_t m) {
  std::int64_t r = m, next_r = a % m, t = 0, next_t = 1;
  while (next_r != 0) {
    const std::int64_t quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    t = std::exchange(next_t, t - quotient * next_t);
  }
  return t < 0 ? t + m : t;
}

/// Along one dimension: the taps of windows 0 to `windows` - 1, `stride` apart, that lie at `place`
/// (from the first window's beginning). All sizes are below 2^32.
inline TapSeries taps_over(std::int64_t place, std::int64_t windows, std::int64_t stride,
                           std::int64_t dilation, std::int64_t kernel) {
  const std::int64_t shared = std::gcd(stride, dilation), step = stride / shared;
  if (place < 0 || place % shared != 0) return {};
  const std::int64_t before = place - (windows - 1) * stride;
  const std::int64_t least = before > 0 ? (before + dilation - 1) / dilation : 0;
  const std::int64_t most = std::min(kernel - 1, place / dilation);
  // t dilation = place modulo stride
  const std::int64_t first = place / shared % step * inverse(dilation / shared % step, step) % step;
  const std::int64_t begin = least + ((first - least) % step + step) % step;
  return {begin, step, begin > most ? 0 : (most - begin) / step + 1};
}

/// Which windows lie over element `at`, and by which taps; `windows`: how many there are along each
/// dimension. It refers to both.
class Covering {
 public:
  Covering(const shape_inference::Window& w, const shape_inference::Dims& windows,
           const shape_inference::Dims& at)
      : w_(w), windows_(windows) {
    for (std::size_t d = 0; d < static_cast<std::size_t>(w.rank); ++d) {
      places_[d] = at[d] + w.pad_begin[d];
      series_[d] = taps_over(places_[d], windows[d], w.stride[d], w.dilation[d], w.kernel[d]);
      count_ *= series_[d].count;
    }
  }
  std::int64_t count() const { return count_; }
  /// Calls f(tap, window) for each, in the order of the taps.
  template <class F>
  void for_each(F&& f) const {
    if (count_ > 0) walk(0, 0, 0, f);
  }

 private:
  template <class F>
  void walk(std::size_t d, std::int64_t tap, std::int64_t window, F& f) const {
    if (d == static_cast<std::size_t>(w_.rank)) return f(tap, window);
    for (std::int64_t i = 0; i < series_[d].count; ++i) {
      const std::int64_t t = series_[d].begin + i * series_[d].step;
      const std::int64_t along = (places_[d] - t * w_.dilation[d]) / w_.stride[d];
      walk(d + 1, tap * w_.kernel[d] + t, window * windows_[d] + along, f);
    }
  }

  const shape_inference::Window& w_;
  const shape_inference::Dims& windows_;
  shape_inference::Dims places_{};
  std::array<TapSeries, limits::kRankMax> series_;
  std::int64_t count_ = 1;
};

}  // namespace commensal::kernels::ref
