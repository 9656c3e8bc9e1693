// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace commensal::kernels::ref {

/// The two neighbours of a place along an axis, for linear interpolation; NaN counts as far away.
template <class C>
struct Neighbours {
  static constexpr double kFar = 1 << 30;  // beyond every image, safe to convert
  std::int64_t first = 0;
  C weight[2] = {0, 0};

  static Neighbours of(C place) {
    const C kept = place != place ? static_cast<C>(-kFar)
                                  : std::clamp(place, static_cast<C>(-kFar), static_cast<C>(kFar));
    const C floor = std::floor(kept), t = kept - floor;
    return {static_cast<std::int64_t>(floor), {1 - t, t}};
  }
};

}  // namespace commensal::kernels::ref
