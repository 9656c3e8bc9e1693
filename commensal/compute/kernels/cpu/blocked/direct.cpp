// SPDX-License-Identifier: Apache-2.0
// Direct convolution: a product whose left rows are output pixels and whose depth is
// (tap, channel), read where the picture lies.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/direct_rows.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/pulse.hpp>

namespace commensal::kernels::cpu {

namespace {

/// Steps of depth between two stores of the accumulators: a panel's part of three vectors is 64
/// KiB, and stays in the second-level cache for all rows.
constexpr std::int64_t kStepsMax = 1024;
/// Floats of the picture that a task goes through for panel after panel: half of such a cache.
constexpr std::int64_t kTaskFloats = 256 * 1024;

class Direct {
 public:
  Direct(const BlockedConv& call, const BlockedWeights& weights, Workspace& ws)
      : call_(call),
        weights_(weights),
        panels_(weights.panels()),
        ws_(ws),
        kernels_(blocked_kernels_for(ws.isa)),
        out_(call.out()) {}

  core::Result<void> run() {
    COMMENSAL_ASSIGN(rows_, DirectRows::of(call_, ws_, room_));
    flatten();
    return multiply();
  }

 private:
  /// Rows of pixels that follow each other without a gap are one.
  void flatten() {
    height_ = out_.height, width_ = out_.width;
    if (rows_.down() == width_ * rows_.right()) width_ *= height_, height_ = 1;
  }

  /// How a call is cut into tasks: each image by rows of pixels (or parts of its only row), and by
  /// panels.
  struct Areas {
    std::int64_t areas = 1, panels = 1;
  };
  Areas cut() const {
    const std::int64_t picture = height_ * width_ * call_.conv.channels;
    const auto panels = static_cast<std::int64_t>(panels_.panels.size());
    constexpr std::int64_t kPixelsMin = 32;
    const std::int64_t most =
        height_ > 1 ? height_ : std::max<std::int64_t>(width_ / kPixelsMin, 1);
    Areas cut{std::clamp<std::int64_t>(ceil_div(picture, kTaskFloats), 1, most), 1};
    if (ws_.threads.threads() == 1) return cut;
    // What is larger is read once by all threads together, the other by each of them.
    const std::int64_t wanted = ceil_div(2 * ws_.threads.threads(), call_.conv.batch);
    if (panels_.floats() > picture) cut.panels = std::min(panels, ceil_div(wanted, cut.areas));
    cut.areas = std::clamp(ceil_div(wanted, cut.panels), cut.areas, std::max(most, cut.areas));
    cut.panels = std::clamp(ceil_div(wanted, cut.areas), cut.panels, panels);
    return cut;
  }

  core::Result<void> multiply() {
    const Areas by = cut();
    const auto panels = static_cast<std::int64_t>(panels_.panels.size());
    const auto multiply_task = [&](std::int64_t task, float* scratch) {
      const std::int64_t cut = task % by.panels, area = task / by.panels % by.areas;
      const std::int64_t image = task / by.panels / by.areas;
      const Range y = height_ > 1 ? Range::part(area, by.areas, height_) : Range{0, 1};
      const Range x = height_ > 1 ? Range{0, width_} : Range::part(area, by.areas, width_);
      const Range of_panels = Range::part(cut, by.panels, panels);
      Pulse pulse(&ws_.threads);  // many taps make of one area several milliseconds
      for (std::int64_t p = of_panels.begin; p < of_panels.end; ++p) {
        multiply_panel(panels_.panels[static_cast<std::size_t>(p)], image, y, x, pulse, scratch);
      }
    };
    const std::int64_t tasks = call_.conv.batch * by.areas * by.panels;
    if (weights_.are_halves()) return run_with_scratch(ws_, tasks, scratch_floats(), multiply_task);
    ws_.threads.run(tasks, [&](std::int64_t task) { multiply_task(task, nullptr); });
    return {};
  }

  /// As many as there are in the longest part of a panel that is gone through at once.
  std::int64_t scratch_floats() const {
    std::int64_t steps = kStepsMax;
    for (const DepthRun& run : rows_.runs()) steps = std::max(steps, run.count);
    return std::min(steps, panels_.depth) * kernels_.vectors_max * kernels_.lanes;
  }

  void multiply_panel(const Panels::Panel& panel, std::int64_t image, Range y, Range x,
                      Pulse& pulse, float* scratch) const {
    std::int64_t c_vectors[8];
    for (int v = 0; v < panel.vectors; ++v) {
      c_vectors[v] = vector_offset(panel.vector + v, kernels_.lanes, out_.plane());
    }
    RowProduct p;
    p.a_step = rows_.right();
    p.c_step = kBlock;
    p.c_vectors = c_vectors;
    p.rows = static_cast<int>(x.end - x.begin);
    p.vectors = panel.vectors;
    p.last = kernels_.lanes;
    p.how = call_.finish;
    p.how.bias = call_.finish.bias + panel.vector * kernels_.lanes;
    std::int64_t k = 0;
    const std::vector<DepthRun>& runs = rows_.runs();
    for (std::size_t run = 0; run < runs.size();) {
      p.runs = &runs[run];
      p.run_count = 0;
      p.resume = k > 0;
      std::int64_t steps = 0;
      while (run < runs.size() && (steps == 0 || steps + runs[run].count <= kStepsMax)) {
        steps += runs[run++].count;
        ++p.run_count;
      }
      p.b = weights_.steps(panel, k, steps, scratch);
      k += steps;
      p.finish = run == runs.size();
      for (std::int64_t row = y.begin; row < y.end; ++row) {
        const std::int64_t to = image * out_.image() + (row * width_ + x.begin) * kBlock;
        // What comes next lies behind it: the panel's next steps, or the next panel.
        const bool fetches = row == y.begin && !weights_.are_halves();
        p.next = fetches ? p.b + steps * panel.vectors * kernels_.lanes : nullptr;
        p.a = rows_.at(image, row, x.begin);
        p.c = call_.y + to;
        if (call_.finish.residual != nullptr) p.how.residual = call_.finish.residual + to;
        kernels_.row_product(p);
        if (p.finish) pass_gate(panel, to, p.rows);
        pulse(p.rows * steps);
      }
    }
  }

  void pass_gate(const Panels::Panel& panel, std::int64_t to, std::int64_t pixels) const {
    const std::int64_t in_block = kBlock / kernels_.lanes;
    for (std::int64_t v = panel.vector; v < panel.vector + panel.vectors; v += in_block) {
      call_.pass_gate(kernels_, call_.y + to + v / in_block * out_.plane(), pixels * kBlock);
    }
  }

  // Constant after construction.
  const BlockedConv& call_;
  const BlockedWeights& weights_;
  const Panels& panels_;
  Workspace& ws_;
  const BlockedKernels& kernels_;
  const BlockedShape out_;

  Room room_;  // of `rows_`
  DirectRows rows_;
  std::int64_t height_ = 0, width_ = 0;  // of the output, flattened
};

}  // namespace

core::Result<void> blocked_direct(const BlockedConv& conv, const BlockedWeights& w, Workspace& ws) {
  return Direct(conv, w, ws).run();
}

}  // namespace commensal::kernels::cpu
