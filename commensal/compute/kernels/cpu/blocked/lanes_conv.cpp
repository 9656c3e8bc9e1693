// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution, and grouped convolution whose groups divide a block: a vector of output
// channels reads one block of input channels.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// The last rows of a block, with their padding at both sides, each in one of as many places: row y
/// is in place y mod `places`.
class RowRing {
 public:
  RowRing(const infer::Window& window, const float* plane, float* scratch)
      : window_(window), plane_(plane), scratch_(scratch), next_(-window.pad_begin[0]) {}

  static std::int64_t places(const infer::Window& w) { return (w.kernel[0] - 1) * w.dilation[0] + 1; }
  static std::int64_t width(const infer::Window& w) {
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
  float* place(std::int64_t y) const {
    return scratch_ + y % places(window_) * width(window_);
  }
  void copy(std::int64_t y) const {
    float* to = place(y);
    const std::int64_t left = window_.pad_begin[1] * kBlock, kept = window_.in[1] * kBlock;
    std::fill(to, to + left, 0.0f);
    std::memcpy(to + left, plane_ + y * kept, static_cast<std::size_t>(kept) * sizeof(float));
    std::fill(to + left + kept, to + width(window_), 0.0f);
  }

  const infer::Window& window_;
  const float* plane_;
  float* scratch_;
  std::int64_t next_;  // the first row that was not copied
};

}  // namespace

core::Result<void> blocked_lanes(const BlockedConv& call, const BlockedWeights& weights,
                                 Workspace& ws) {
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const infer::Window& w = call.conv.window;
  const BlockedShape in = call.in(), out = call.out();
  const std::int64_t group = call.conv.group_channels(), taps = w.taps();
  const bool in_place = w.pad_begin[1] == 0 && w.pad_end[1] == 0;
  // Bands of rows, so that few blocks still give every thread work.
  const std::int64_t planes = in.batch * in.blocks;
  const std::int64_t bands =
      ws.threads.threads() == 1
          ? 1
          : std::clamp<std::int64_t>(4 * ws.threads.threads() / planes, 1, out.height);
  return run_with_scratch(
      ws, planes * bands, RowRing::places(w) * RowRing::width(w),
      [&](std::int64_t task, float* scratch) {
        const std::int64_t plane = task / bands, band = task % bands;
        const std::int64_t block = plane % in.blocks;
        RowRing ring(w, call.x + plane * in.plane(), scratch);
        LanesRow row;
        std::vector<const float*> from(static_cast<std::size_t>(taps));
        std::vector<int> kept(static_cast<std::size_t>(taps));
        row.taps = from.data(), row.kept = kept.data();
        row.group = static_cast<int>(group);
        row.weights = weights.lanes() + block * taps * group * kBlock;
        row.step = w.stride[1] * kBlock;
        row.count = static_cast<int>(out.width);
        row.how = call.finish;
        row.how.bias = call.finish.bias + block * kBlock;
        for (std::int64_t y = band * out.height / bands; y < (band + 1) * out.height / bands; ++y) {
          row.tap_count = 0;
          for (std::int64_t ky = 0; ky < w.kernel[0]; ++ky) {
            const std::int64_t in_y = y * w.stride[0] + ky * w.dilation[0] - w.pad_begin[0];
            const float* line = in_place ? (in_y < 0 || in_y >= in.height
                                                ? nullptr
                                                : call.x + plane * in.plane() + in_y * in.width * kBlock)
                                         : ring.row(in_y);
            if (line == nullptr) continue;
            for (std::int64_t kx = 0; kx < w.kernel[1]; ++kx) {
              from[static_cast<std::size_t>(row.tap_count)] = line + kx * w.dilation[1] * kBlock;
              kept[static_cast<std::size_t>(row.tap_count++)] = static_cast<int>(ky * w.kernel[1] + kx);
            }
          }
          const std::int64_t to = plane * out.plane() + y * out.width * kBlock;
          row.out = call.y + to;
          if (call.finish.residual != nullptr) row.how.residual = call.finish.residual + to;
          kernels.lanes_row(row);
          call.pass_gate(kernels, to, out.width * kBlock);
        }
      });
}

}  // namespace commensal::kernels::cpu
