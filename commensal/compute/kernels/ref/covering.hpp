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

/// Calls f(tap, window) for each tap of a window that lies over element `at`, in the order of the
/// taps; `windows`: how many there are along each dimension.
template <class F>
void for_covering(const shape_inference::Window& w, const shape_inference::Dims& windows,
                  const shape_inference::Dims& at, F&& f, std::size_t d = 0, std::int64_t tap = 0,
                  std::int64_t window = 0) {
  if (d == static_cast<std::size_t>(w.rank)) return f(tap, window);
  const std::int64_t place = at[d] + w.pad_begin[d];
  const TapSeries series = taps_over(place, windows[d], w.stride[d], w.dilation[d], w.kernel[d]);
  for (std::int64_t i = 0; i < series.count; ++i) {
    const std::int64_t t = series.begin + i * series.step;
    for_covering(w, windows, at, f, d + 1, tap * w.kernel[d] + t,
                 window * windows[d] + (place - t * w.dilation[d]) / w.stride[d]);
  }
}

}  // namespace commensal::kernels::ref
