// SPDX-License-Identifier: Apache-2.0
// Direct convolution: a product whose left rows are output pixels and whose depth is
// (tap, channel), read where the picture lies.
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

/// Steps of depth between two stores of the accumulators: a panel's part of three vectors is 64
/// KiB, and stays in the second-level cache for all rows.
constexpr std::int64_t kStepsMax = 1024;
/// Floats of the picture that a task goes through for panel after panel: half of such a cache.
constexpr std::int64_t kTaskFloats = 256 * 1024;

/// A picture as the product reads it: with its padding, and the channels of a pixel `pixel` floats.
struct Rows {
  const float* data = nullptr;
  std::int64_t image = 0, row = 0;  // floats between images, between rows of pixels
  std::int64_t pixel = 0;
  std::int64_t block = 0;     // between blocks of channels
  std::int64_t channels = 0;  // that lie side by side
};

class Direct {
 public:
  Direct(const BlockedConv& call, const BlockedWeights& weights, Workspace& ws)
      : call_(call),
        window_(call.conv.window),
        weights_(weights),
        panels_(weights.panels()),
        ws_(ws),
        kernels_(blocked_kernels_for(ws.isa)),
        out_(call.out()) {}

  core::Result<void> run() {
    if (call_.from_picture) {
      COMMENSAL_TRY(interleave());
    } else if (is_padded()) {
      COMMENSAL_TRY(pad());
    } else {
      const BlockedShape in = call_.in();
      rows_ = {call_.x, in.image(), in.width * kBlock, kBlock, in.plane(), kBlock};
    }
    flatten();
    list_runs();
    multiply();
    return {};
  }

 private:
  bool is_padded() const {
    return window_.pad_begin[0] + window_.pad_begin[1] + window_.pad_end[0] + window_.pad_end[1] >
           0;
  }
  std::int64_t padded_height() const {
    return window_.in[0] + window_.pad_begin[0] + window_.pad_end[0];
  }
  std::int64_t padded_width() const {
    return window_.in[1] + window_.pad_begin[1] + window_.pad_end[1];
  }

  /// Copies every block with zeros around it. (Weights are finite: +0 there is as good as
  /// skipping.)
  core::Result<void> pad() {
    const BlockedShape in = call_.in();
    const std::int64_t height = padded_height(), width = padded_width() * kBlock;
    rows_ = {nullptr, in.blocks * height * width, width, kBlock, height * width, kBlock};
    COMMENSAL_ASSIGN(copy_, floats_from(ws_.arena, in.batch * rows_.image));
    rows_.data = copy_.get();
    const std::int64_t left = window_.pad_begin[1] * kBlock, kept = in.width * kBlock;
    const BlockedShape padded{in.batch, in.blocks, height, padded_width()};
    for_each_plane(padded, ws_.threads, [&](std::int64_t plane, Range rows) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        float* const to = copy_.get() + plane * rows_.block + row * width;
        const std::int64_t y = row - window_.pad_begin[0];
        if (y < 0 || y >= in.height) {
          std::fill(to, to + width, 0.0f);
          continue;
        }
        std::fill(to, to + left, 0.0f);
        std::memcpy(to + left, call_.x + plane * in.plane() + y * kept,
                    static_cast<std::size_t>(kept) * sizeof(float));
        std::fill(to + left + kept, to + width, 0.0f);
      }
    });
    return {};
  }

  /// From [C, H, W] to padded [H, W, C].
  core::Result<void> interleave() {
    const std::int64_t channels = call_.conv.channels, height = padded_height();
    const std::int64_t width = padded_width() * channels;
    rows_ = {nullptr, height * width, width, channels, 0, channels};
    COMMENSAL_ASSIGN(copy_, floats_from(ws_.arena, call_.conv.batch * rows_.image));
    rows_.data = copy_.get();
    const std::int64_t plane = window_.in_elements(), left = window_.pad_begin[1] * channels;
    ws_.threads.run(call_.conv.batch * height, [&](std::int64_t i) {
      const std::int64_t y = i % height - window_.pad_begin[0];
      float* const to = copy_.get() + i * width;
      std::fill(to, to + width, 0.0f);
      if (y < 0 || y >= window_.in[0]) return;
      const float* const from = call_.x + i / height * channels * plane + y * window_.in[1];
      kernels_.interleave(from, plane, channels, window_.in[1], to + left);
    });
    return {};
  }

  /// Rows of pixels that follow each other without a gap are one.
  void flatten() {
    height_ = out_.height, width_ = out_.width;
    const std::int64_t step_y = window_.stride[0] * rows_.row;
    const std::int64_t step_x = window_.stride[1] * rows_.pixel;
    if (step_y == width_ * step_x) width_ *= height_, height_ = 1;
    a_step_ = step_x, a_row_ = step_y;
  }

  void list_runs() {
    const std::int64_t channels = call_.conv.channels;
    for (std::int64_t ky = 0; ky < window_.kernel[0]; ++ky) {
      for (std::int64_t kx = 0; kx < window_.kernel[1]; ++kx) {
        const std::int64_t tap =
            ky * window_.dilation[0] * rows_.row + kx * window_.dilation[1] * rows_.pixel;
        for (std::int64_t c = 0; c < channels; c += rows_.channels) {
          const std::int64_t count = std::min(rows_.channels, channels - c);
          const std::int64_t offset = tap + c / rows_.channels * rows_.block;
          const bool joins = !runs_.empty() && runs_.back().offset + runs_.back().count == offset;
          if (joins) {
            runs_.back().count += count;
          } else {
            runs_.push_back({offset, count});
          }
        }
      }
    }
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

  void multiply() {
    const Areas by = cut();
    const auto panels = static_cast<std::int64_t>(panels_.panels.size());
    ws_.threads.run(call_.conv.batch * by.areas * by.panels, [&](std::int64_t task) {
      const std::int64_t cut = task % by.panels, area = task / by.panels % by.areas;
      const std::int64_t image = task / by.panels / by.areas;
      const Range y = height_ > 1 ? Range::part(area, by.areas, height_) : Range{0, 1};
      const Range x = height_ > 1 ? Range{0, width_} : Range::part(area, by.areas, width_);
      const Range of_panels = Range::part(cut, by.panels, panels);
      for (std::int64_t p = of_panels.begin; p < of_panels.end; ++p) {
        multiply_panel(panels_.panels[static_cast<std::size_t>(p)], image, y, x);
      }
    });
  }

  void multiply_panel(const Panels::Panel& panel, std::int64_t image, Range y, Range x) const {
    std::int64_t c_vectors[8];
    for (int v = 0; v < panel.vectors; ++v) {
      c_vectors[v] = vector_offset(panel.vector + v, kernels_.lanes, out_.plane());
    }
    RowProduct p;
    p.a_step = a_step_;
    p.c_step = kBlock;
    p.c_vectors = c_vectors;
    p.rows = static_cast<int>(x.end - x.begin);
    p.vectors = panel.vectors;
    p.last = kernels_.lanes;
    p.how = call_.finish;
    p.how.bias = call_.finish.bias + panel.vector * kernels_.lanes;
    std::int64_t k = 0;
    for (std::size_t run = 0; run < runs_.size();) {
      p.runs = &runs_[run];
      p.run_count = 0;
      p.b = weights_.matrix() + panels_.offset(panel, k);
      p.resume = k > 0;
      std::int64_t steps = 0;
      while (run < runs_.size() && (steps == 0 || steps + runs_[run].count <= kStepsMax)) {
        steps += runs_[run++].count;
        ++p.run_count;
      }
      k += steps;
      p.finish = run == runs_.size();
      for (std::int64_t row = y.begin; row < y.end; ++row) {
        const std::int64_t to = image * out_.image() + (row * width_ + x.begin) * kBlock;
        // What comes next lies behind it: the panel's next steps, or the next panel.
        p.next = row == y.begin ? p.b + steps * panel.vectors * kernels_.lanes : nullptr;
        p.a = rows_.data + image * rows_.image + row * a_row_ + x.begin * a_step_;
        p.c = call_.y + to;
        if (call_.finish.residual != nullptr) p.how.residual = call_.finish.residual + to;
        kernels_.row_product(p);
        if (p.finish) pass_gate(panel, to, p.rows);
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
  const infer::Window& window_;
  const BlockedWeights& weights_;
  const Panels& panels_;
  Workspace& ws_;
  const BlockedKernels& kernels_;
  const BlockedShape out_;

  std::shared_ptr<float> copy_;
  Rows rows_;
  std::int64_t height_ = 0, width_ = 0;  // of the output, flattened
  std::int64_t a_step_ = 0, a_row_ = 0;  // floats between pixels, between rows
  std::vector<DepthRun> runs_;
};

}  // namespace

core::Result<void> blocked_direct(const BlockedConv& conv, const BlockedWeights& w, Workspace& ws) {
  return Direct(conv, w, ws).run();
}

}  // namespace commensal::kernels::cpu
