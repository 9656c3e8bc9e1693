// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, and grouped convolution whose groups divide a block: a vector of output
// channels reads one block of input channels.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/lanes_rows.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// The last rows of a block, with their padding at both sides, each in one of as many places: row y
/// is in place y mod `places`.
class RowRing {
 public:
  RowRing(const shape_inference::Window& window, const float* plane, float* scratch)
      : window_(window), plane_(plane), scratch_(scratch), next_(-window.pad_begin[0]) {}

  static std::int64_t places(const shape_inference::Window& w) {
    return (w.kernel[0] - 1) * w.dilation[0] + 1;
  }
  static std::int64_t width(const shape_inference::Window& w) {
    return (w.pad_begin[1] + w.in[1] + w.pad_end[1]) * kBlock;
  }

  /// Null in the padding. Rows are asked for in windows that move down.
  const float* row(std::int64_t y) {
    if (y < 0 || y >= window_.in[0]) return nullptr;
    for (next_ = std::max(next_, y - places(window_) + 1); next_ <= y; ++next_) {
      if (next_ >= 0) copy(next_);
    }
    return place(y);
  }

 private:
  float* place(std::int64_t y) const { return scratch_ + y % places(window_) * width(window_); }
  void copy(std::int64_t y) const {
    float* to = place(y);
    const std::int64_t left = window_.pad_begin[1] * kBlock, kept = window_.in[1] * kBlock;
    std::fill(to, to + left, 0.0f);
    std::memcpy(to + left, plane_ + y * kept, static_cast<std::size_t>(kept) * sizeof(float));
    std::fill(to + left + kept, to + width(window_), 0.0f);
  }

  const shape_inference::Window& window_;
  const float* plane_;
  float* scratch_;
  std::int64_t next_;  // the first row that was not copied
};

}  // namespace

core::Result<void> blocked_lanes(const BlockedConv& call, const BlockedWeights& weights,
                                 Workspace& ws) {
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const shape_inference::Window& w = call.conv.window;
  const BlockedShape in = call.in(), out = call.out();
  const bool in_place = w.pad_begin[1] == 0 && w.pad_end[1] == 0;
  const Cut cut = Cut::of(out, in.blocks, ws.threads);
  return run_with_scratch(
      ws, cut.tasks(), RowRing::places(w) * RowRing::width(w),
      [&](std::int64_t task, float* scratch) {
        const Cut::Part part = cut.part(task, out.height, in.blocks);
        for (std::int64_t block = part.units.begin; block < part.units.end; ++block) {
          const std::int64_t plane = part.image * in.blocks + block;
          const float* const from = call.x + plane * in.plane();
          RowRing ring(w, from, scratch);
          const auto line = [&](std::int64_t y) {
            if (!in_place) return ring.row(y);
            return y < 0 || y >= in.height ? nullptr : from + y * in.width * kBlock;
          };
          LanesRows rows(kernels, call, weights, plane);
          for (std::int64_t y = part.rows.begin; y < part.rows.end; ++y) rows.compute(y, line);
        }
      });
}

}  // namespace commensal::kernels::cpu
