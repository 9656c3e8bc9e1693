// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>
#include <commensal/compute/kernels/shape_inference/pool.hpp>

namespace commensal::kernels::ref {

/// What the pools share: which elements a window holds.
struct PoolPlan {
  shape_inference::Pool pool;

  /// Calls f(tap position, input index) for each tap that is not padded, in order.
  template <class F>
  void for_taps(std::int64_t index, F&& f) const {
    const shape_inference::Window& w = pool.window;
    const std::int64_t plane = index / w.out_elements() * w.in_elements();
    w.for_taps(w.split(index % w.out_elements(), w.out),
               [&](std::int64_t tap, std::int64_t source) { f(tap, plane + source); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_taps(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
  }
  std::int64_t taps_inside(std::int64_t index) const {
    const shape_inference::Window& w = pool.window;
    return w.taps_inside(w.split(index % w.out_elements(), w.out));
  }
};

}  // namespace commensal::kernels::ref
