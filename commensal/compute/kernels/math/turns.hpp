// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/math/scalar.hpp>
#include <cstdint>

namespace commensal::kernels::math {

/// The largest denominator: all numbers up to it are exact in binary32.
inline constexpr std::int64_t kTurnsMax = std::int64_t{1} << 24;

/// cos and sin of an angle; zeros are +0.
struct Turned {
  float cos = 1, sin = 0;
};

/// Of m / n of a full turn, for m >= 0 and 1 <= n <= kTurnsMax. The angle is reduced to an eighth
/// of a turn in integers, so exactly; the rest is an angle of at most pi / 4 in two parts, for
/// which the polynomials of sin and cos serve.
inline Turned turned(std::int64_t m, std::int64_t n) {
  using L = ScalarLanes;
  const std::int64_t eighths = 8 * (m % n), octant = eighths / n;
  std::int64_t rest = eighths % n;
  if (octant % 2 == 1) rest = n - rest;
  const auto over = static_cast<float>(rest), under = static_cast<float>(n);
  const float part = over / under, part_low = std::fma(-part, under, over) / under;
  constexpr float kEighth = 0x1.921fb6p-1f, kEighthLow = -0x1.777a5cp-26f;  // pi / 4
  const float high = part * kEighth;
  const float low = std::fma(part, kEighth, -high) + std::fma(part, kEighthLow, part_low * kEighth);
  const Pair<L> angle = exact_sum<L>(high, low);
  const float s = sin_of_reduced<L>(angle), c = cos_of_reduced<L>(angle);
  const bool steep = octant == 1 || octant == 2 || octant == 5 || octant == 6;
  const float x = steep ? s : c, y = steep ? c : s;
  const bool left = octant >= 2 && octant < 6, below = octant >= 4;
  return {(left ? -x : x) + 0.0f, (below ? -y : y) + 0.0f};
}

}  // namespace commensal::kernels::math
