// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/conv.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// The rows of one plane of outputs of a depthwise or narrowly grouped convolution.
class LanesRows {
 public:
  /// Plane `plane` of all images' blocks. What it is given must live as long.
  LanesRows(const BlockedKernels& kernels, const BlockedConv& call, const BlockedWeights& weights,
            std::int64_t plane)
      : kernels_(kernels),
        call_(call),
        window_(call.conv.window),
        to_(plane * call.out().plane()),
        lines_(static_cast<std::size_t>(window_.kernel[0])) {
    const std::int64_t block = plane % call.in().blocks, group = call.conv.group_channels();
    row_.rows = lines_.data();
    row_.kernel_height = static_cast<int>(window_.kernel[0]);
    row_.kernel_width = static_cast<int>(window_.kernel[1]);
    row_.tap_step = window_.dilation[1] * kBlock;
    row_.group = static_cast<int>(group);
    row_.weights = weights.lanes() + block * window_.taps() * group * kBlock;
    row_.step = window_.stride[1] * kBlock;
    row_.count = static_cast<int>(window_.out[1]);
    row_.how = call.finish;
    row_.how.bias = weights.bias() + block * kBlock;
  }

  /// Output row `y`. `line(in_y)`: that row of inputs with its padding, or null outside of the
  /// picture; asked for in ascending order.
  template <class Line>
  void compute(std::int64_t y, const Line& line) {
    std::int64_t in_y = y * window_.stride[0] - window_.pad_begin[0];
    for (const float*& one : lines_) one = line(in_y), in_y += window_.dilation[0];
    const std::int64_t floats = row_.count * kBlock, to = to_ + y * floats;
    row_.out = call_.y + to;
    if (call_.finish.residual != nullptr) row_.how.residual = call_.finish.residual + to;
    kernels_.lanes_row(row_);
    call_.pass_gate(kernels_, call_.y + to, floats);
  }

 private:
  const BlockedKernels& kernels_;
  const BlockedConv& call_;
  const shape_inference::Window& window_;
  const std::int64_t to_;
  std::vector<const float*> lines_;
  LanesRow row_;
};

}  // namespace commensal::kernels::cpu
