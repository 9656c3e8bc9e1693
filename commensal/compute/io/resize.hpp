// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace commensal::io {

/// One channel, row by row from the top.
struct Plane {
  int width = 0;
  int height = 0;
  std::vector<float> values;
};

/// Bilinear interpolation, half-pixel centres, edges repeated, no smoothing before shrinking.
/// Along an axis, output i looks at s = (i + 0.5) * (in / out) - 0.5, held within [0, in - 1];
/// with k = floor(s) and f = s - k the value is v[k] + (v[k + 1] - v[k]) * f: first along the row,
/// then between rows. All in binary32, every operation rounded on its own, so that the result is
/// the same on every machine.
Plane resize_bilinear(const Plane& plane, int width, int height);

}  // namespace commensal::io
