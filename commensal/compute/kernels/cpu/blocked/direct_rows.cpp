// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/direct_rows.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

namespace {

bool is_padded(const shape_inference::Window& w) {
  return w.pad_begin[0] + w.pad_begin[1] + w.pad_end[0] + w.pad_end[1] > 0;
}
std::int64_t padded(const shape_inference::Window& w, std::size_t axis) {
  return w.in[axis] + w.pad_begin[axis] + w.pad_end[axis];
}

}  // namespace

core::Result<DirectRows> DirectRows::of(const BlockedConv& call, Workspace& ws) {
  DirectRows made;
  const shape_inference::Window& window = call.conv.window;
  if (call.from_picture) {
    COMMENSAL_TRY(made.interleave(call, ws));
  } else if (is_padded(window)) {
    COMMENSAL_TRY(made.pad(call, ws));
  } else {
    const BlockedShape in = call.in();
    made.data_ = call.x;
    made.image_ = in.image(), made.row_ = in.width * kBlock, made.pixel_ = kBlock;
    made.block_ = in.plane(), made.channels_ = kBlock;
  }
  made.right_ = window.stride[1] * made.pixel_;
  made.down_ = window.stride[0] * made.row_;
  made.list_runs(call);
  return made;
}

/// Copies every block with zeros around it. (Weights are finite: +0 there is as good as skipping.)
core::Result<void> DirectRows::pad(const BlockedConv& call, Workspace& ws) {
  const shape_inference::Window& window = call.conv.window;
  const BlockedShape in = call.in();
  const std::int64_t height = padded(window, 0), width = padded(window, 1) * kBlock;
  image_ = in.blocks * height * width, row_ = width, pixel_ = kBlock;
  block_ = height * width, channels_ = kBlock;
  COMMENSAL_ASSIGN(copy_, floats_from(ws.arena, in.batch * image_));
  data_ = copy_.get();
  const std::int64_t left = window.pad_begin[1] * kBlock, kept = in.width * kBlock;
  const BlockedShape all{in.batch, in.blocks, height, padded(window, 1)};
  for_each_plane(all, ws.threads, [&](std::int64_t plane, Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      float* const to = copy_.get() + plane * block_ + row * width;
      const std::int64_t y = row - window.pad_begin[0];
      if (y < 0 || y >= in.height) {
        std::fill(to, to + width, 0.0f);
        continue;
      }
      std::fill(to, to + left, 0.0f);
      std::memcpy(to + left, call.x + plane * in.plane() + y * kept,
                  static_cast<std::size_t>(kept) * sizeof(float));
      std::fill(to + left + kept, to + width, 0.0f);
    }
  });
  return {};
}

/// From [C, H, W] to padded [H, W, C].
core::Result<void> DirectRows::interleave(const BlockedConv& call, Workspace& ws) {
  const shape_inference::Window& window = call.conv.window;
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const std::int64_t channels = call.conv.channels, height = padded(window, 0);
  const std::int64_t width = padded(window, 1) * channels;
  image_ = height * width, row_ = width, pixel_ = channels, block_ = 0, channels_ = channels;
  COMMENSAL_ASSIGN(copy_, floats_from(ws.arena, call.conv.batch * image_));
  data_ = copy_.get();
  const std::int64_t plane = window.in_elements(), left = window.pad_begin[1] * channels;
  ws.threads.run(call.conv.batch * height, [&](std::int64_t i) {
    const std::int64_t y = i % height - window.pad_begin[0];
    float* const to = copy_.get() + i * width;
    std::fill(to, to + width, 0.0f);
    if (y < 0 || y >= window.in[0]) return;
    const float* const from = call.x + i / height * channels * plane + y * window.in[1];
    kernels.interleave(from, plane, channels, window.in[1], to + left);
  });
  return {};
}

void DirectRows::list_runs(const BlockedConv& call) {
  const shape_inference::Window& window = call.conv.window;
  const std::int64_t channels = call.conv.channels;
  for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky) {
    for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx) {
      const std::int64_t tap = ky * window.dilation[0] * row_ + kx * window.dilation[1] * pixel_;
      for (std::int64_t c = 0; c < channels; c += channels_) {
        const std::int64_t count = std::min(channels_, channels - c);
        const std::int64_t offset = tap + c / channels_ * block_;
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

}  // namespace commensal::kernels::cpu
