// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/weights.hpp>
#include <memory>
#include <mutex>
#include <vector>

namespace commensal::kernels::cpu {

/// One call of a blocked convolution, the same for all its ways.
struct BlockedConv {
  shape_inference::Conv conv;
  bool from_picture = false;                          // X is [N, C, H, W], of few channels
  RowFinish finish;                                   // bias in whole blocks, residual blocked as Y
  Gate gate = Gate::kNone;                            // done to what `finish` gives
  float alpha = 0, beta = 0;                          // of kHardSigmoid
  std::shared_ptr<const std::vector<DepthRun>> runs;  // of DirectRows, where it has them already
  const float* x = nullptr;
  float* y = nullptr;

  /// Reads attributes and types. `call`: X, W, bias or none, residual or none; attributes of Conv,
  /// "low" and "high" where the result is clamped, "gate" (with "alpha" and "beta") where it is
  /// multiplied by a function of itself, "picture" where X is not blocked.
  static core::Result<BlockedConv> of(const Call& call);

  void pass_gate(const BlockedKernels& kernels, float* from, std::int64_t count) const {
    if (gate == Gate::kSigmoid) kernels.gate_sigmoid(from, count);
    if (gate == Gate::kHardSigmoid) kernels.gate_hard_sigmoid(from, count, alpha, beta);
  }

  BlockedShape in() const {
    return {conv.batch, blocks_of(conv.channels), conv.window.in[0], conv.window.in[1]};
  }
  BlockedShape out() const {
    return {conv.batch, blocks_of(conv.out_channels), conv.window.out[0], conv.window.out[1]};
  }
};

/// What was read of the last call's types and attributes: they are the same, run after run.
/// Thread-safety: any thread.
class LastCall {
 public:
  /// As BlockedConv::of, which is only asked where X has another type than last time; `x` and the
  /// residual are not this call's.
  core::Result<std::shared_ptr<const BlockedConv>> of(const Call& call);

 private:
  std::mutex mutex_;
  TensorType x_;
  std::shared_ptr<const BlockedConv> read_;
};

// One file each. Error: kResourceExhausted.
core::Result<void> blocked_direct(const BlockedConv& conv, const BlockedWeights& w, Workspace& ws);
core::Result<void> blocked_winograd(const BlockedConv& conv, const BlockedWeights& w,
                                    Workspace& ws);
core::Result<void> blocked_lanes(const BlockedConv& conv, const BlockedWeights& w, Workspace& ws);

}  // namespace commensal::kernels::cpu
