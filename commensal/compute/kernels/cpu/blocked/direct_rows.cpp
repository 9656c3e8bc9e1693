// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/blocked/cut.hpp>
#include <commensal/compute/kernels/cpu/blocked/direct_rows.hpp>
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

/// The layout alone.
DirectRows::DirectRows(const BlockedConv& call) {
  const shape_inference::Window& window = call.conv.window;
  const BlockedShape in = call.in();
  const std::int64_t height = padded(window, 0), width = padded(window, 1);
  if (call.from_picture) {
    pixel_ = channels_ = call.conv.channels;
    row_ = width * pixel_;
    image_ = height * row_;
  } else {
    pixel_ = channels_ = kBlock;
    row_ = width * kBlock;
    block_ = height * row_;
    image_ = in.blocks * block_;
  }
  right_ = window.stride[1] * pixel_;
  down_ = window.stride[0] * row_;
}

core::Result<DirectRows> DirectRows::of(const BlockedConv& call, Workspace& ws, Room& room) {
  DirectRows made(call);
  made.runs_ = call.runs != nullptr ? call.runs : runs_of(call);
  made.data_ = call.x;
  if (!call.from_picture && !is_padded(call.conv.window)) return made;
  COMMENSAL_ASSIGN(float* const to, room.of(ws.arena, call.conv.batch * made.image_));
  if (call.from_picture) {
    made.interleave(call, ws, to);
  } else {
    made.pad(call, ws.threads, to);
  }
  made.data_ = to;
  return made;
}

/// Copies every block with zeros around it. (Weights are finite: +0 there is as good as skipping.)
void DirectRows::pad(const BlockedConv& call, ThreadPool& threads, float* copy) const {
  const shape_inference::Window& window = call.conv.window;
  const BlockedShape in = call.in();
  const std::int64_t left = window.pad_begin[1] * kBlock, kept = in.width * kBlock;
  const BlockedShape all{in.batch, in.blocks, padded(window, 0), padded(window, 1)};
  for_each_plane(all, threads, [&](std::int64_t plane, Range rows) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
      float* const to = copy + plane * block_ + row * row_;
      const std::int64_t y = row - window.pad_begin[0];
      if (y < 0 || y >= in.height) {
        std::fill(to, to + row_, 0.0f);
        continue;
      }
      std::fill(to, to + left, 0.0f);
      std::memcpy(to + left, call.x + plane * in.plane() + y * kept,
                  static_cast<std::size_t>(kept) * sizeof(float));
      std::fill(to + left + kept, to + row_, 0.0f);
    }
  });
}

/// From [C, H, W] to padded [H, W, C].
void DirectRows::interleave(const BlockedConv& call, Workspace& ws, float* copy) const {
  const shape_inference::Window& window = call.conv.window;
  const BlockedKernels& kernels = blocked_kernels_for(ws.isa);
  const std::int64_t channels = call.conv.channels, height = padded(window, 0);
  const std::int64_t plane = window.in_elements(), left = window.pad_begin[1] * channels;
  ws.threads.run(call.conv.batch * height, [&](std::int64_t i) {
    const std::int64_t y = i % height - window.pad_begin[0];
    float* const to = copy + i * row_;
    std::fill(to, to + row_, 0.0f);
    if (y < 0 || y >= window.in[0]) return;
    const float* const from = call.x + i / height * channels * plane + y * window.in[1];
    kernels.interleave(from, plane, channels, window.in[1], to + left);
  });
}

std::shared_ptr<const std::vector<DepthRun>> DirectRows::runs_of(const BlockedConv& call) {
  const DirectRows at(call);
  const shape_inference::Window& window = call.conv.window;
  const std::int64_t channels = call.conv.channels;
  auto runs = std::make_shared<std::vector<DepthRun>>();
  for (std::int64_t ky = 0; ky < window.kernel[0]; ++ky) {
    for (std::int64_t kx = 0; kx < window.kernel[1]; ++kx) {
      const std::int64_t tap =
          ky * window.dilation[0] * at.row_ + kx * window.dilation[1] * at.pixel_;
      for (std::int64_t c = 0; c < channels; c += at.channels_) {
        const std::int64_t count = std::min(at.channels_, channels - c);
        const std::int64_t offset = tap + c / at.channels_ * at.block_;
        const bool joins = !runs->empty() && runs->back().offset + runs->back().count == offset;
        if (joins) {
          runs->back().count += count;
        } else {
          runs->push_back({offset, count});
        }
      }
    }
  }
  return runs;
}

}  // namespace commensal::kernels::cpu
