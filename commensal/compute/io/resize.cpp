// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/io/resize.hpp>
#include <cstddef>

namespace commensal::io {
namespace {

struct Tap {
  std::size_t low = 0, high = 0;
  float fraction = 0;
};

std::vector<Tap> taps(int in, int out) {
  const float ratio = static_cast<float>(in) / static_cast<float>(out);
  std::vector<Tap> made;
  for (int i = 0; i < out; ++i) {
    const float place = (static_cast<float>(i) + 0.5f) * ratio - 0.5f;
    const float held = std::clamp(place, 0.0f, static_cast<float>(in - 1));
    const auto low = static_cast<std::size_t>(held);
    const std::size_t high = std::min(low + 1, static_cast<std::size_t>(in - 1));
    made.push_back({low, high, held - static_cast<float>(low)});
  }
  return made;
}

float between(float a, float b, float fraction) { return a + (b - a) * fraction; }

}  // namespace

Plane resize_bilinear(const Plane& plane, int width, int height) {
  if (plane.width == width && plane.height == height) return plane;
  const std::vector<Tap> columns = taps(plane.width, width);
  Plane out{width, height, {}};
  out.values.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const auto row_of = [&plane](std::size_t y) {
    return plane.values.data() + y * static_cast<std::size_t>(plane.width);
  };
  for (const Tap& y : taps(plane.height, height)) {
    const float* top = row_of(y.low);
    const float* bottom = row_of(y.high);
    for (const Tap& x : columns) {
      out.values.push_back(between(between(top[x.low], top[x.high], x.fraction),
                                   between(bottom[x.low], bottom[x.high], x.fraction), y.fraction));
    }
  }
  return out;
}

}  // namespace commensal::io
