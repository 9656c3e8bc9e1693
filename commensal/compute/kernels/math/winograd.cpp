// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/math/winograd.hpp>

#include <commensal/base/core/check.hpp>

namespace commensal::kernels::math {
namespace {

constexpr double kA = 0.625, kB = 1.5;
constexpr double kA2 = kA * kA, kB2 = kB * kB;

constexpr double kG2[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};

// Row of point p: {1, p, p^2} / N(p), N the product of p's distances to the other finite points.
constexpr double kN0 = kA2 * kB2;
constexpr double kNA = 2 * kA2 * (kA2 - kB2);
constexpr double kNB = 2 * kB2 * (kB2 - kA2);
constexpr double kG4[6][3] = {{1 / kN0, 0, 0},
                              {1 / kNA, kA / kNA, kA2 / kNA},
                              {1 / kNA, -kA / kNA, kA2 / kNA},
                              {1 / kNB, kB / kNB, kB2 / kNB},
                              {1 / kNB, -kB / kNB, kB2 / kNB},
                              {0, 0, 1}};

template <int T>
void transform(const double (&g)[T][3], const float* f, float* out) {
  double t[T][3];
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < 3; ++j) {
      t[i][j] = (g[i][0] * static_cast<double>(f[j]) + g[i][1] * static_cast<double>(f[3 + j])) +
                g[i][2] * static_cast<double>(f[6 + j]);
    }
  }
  for (int i = 0; i < T; ++i) {
    for (int j = 0; j < T; ++j) {
      out[i * T + j] =
          static_cast<float>((t[i][0] * g[j][0] + t[i][1] * g[j][1]) + t[i][2] * g[j][2]);
    }
  }
}

}  // namespace

void winograd_filter(int tile, const float* filter, float* out) {
  core::check(tile == 2 || tile == 4, "a Winograd tile has a side of 2 or 4");
  if (tile == 2) return transform<4>(kG2, filter, out);
  transform<6>(kG4, filter, out);
}

}  // namespace commensal::kernels::math
