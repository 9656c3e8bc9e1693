// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/taps.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>
#include <functional>

/// Convolutions of codes with one input channel a group: each plane of outputs on its own. A word
/// has neighbouring taps of one row instead of channels.
namespace commensal::kernels::cpu {

/// Where the words of a plane's taps lie.
struct WordTaps {
  TapLayout layout;
  std::int64_t across = 0;            // words of a row of the kernel
  std::int64_t width = 0;             // of a row of the padded plane, in codes
  std::vector<std::int64_t> offsets;  // row by row

  /// Precondition: TapLayout suits the window.
  explicit WordTaps(const shape_inference::Window& window);
  std::int64_t words() const { return static_cast<std::int64_t>(offsets.size()); }
  std::int64_t padded() const { return layout.split.rows * width; }
  /// What the last word reads beyond its own code.
  std::int64_t beyond() const { return (kCodesInWord - 1) * layout.geometry.dilation_x; }
  std::int64_t bytes() const {
    return layout.bytes() + static_cast<std::int64_t>(offsets.size() * sizeof(std::int64_t));
  }
  /// The plane with `around` on all sides.
  void pad(const std::uint8_t* plane, std::uint8_t around, std::uint8_t* to) const;
};

/// Weights [O, 1, taps...] of all output channels as words, and what is known of each alone.
class DepthwiseCodes final : public Packed {
 public:
  /// Precondition: rank 3 or 4, of 8 bits.
  DepthwiseCodes(Pulse& pulse, const Tensor& weights, Isa isa);
  const float* words(std::int64_t channel) const { return words_.data() + channel * floats_; }
  const float* ones() const { return ones_.data(); }
  std::span<const std::int32_t> sums() const { return sums_; }

 private:
  std::int64_t floats_;  // of a channel
  std::vector<float> words_, ones_;
  std::vector<std::int32_t> sums_;
};

/// What is the same for all planes of a call.
struct DepthwiseCall {
  const Call& call;
  const shape_inference::CodeRoles& roles;
  const shape_inference::CodeConv& codes;
  const WordTaps& taps;
  const DepthwiseCodes& weights;
};
/// `finish(image, out channel)` is that of one plane; sums and zero points are filled in.
/// Precondition: one channel a group. Error: kResourceExhausted.
core::Result<void> code_depthwise(
    const DepthwiseCall& given, const std::function<CodeFinish(std::int64_t, std::int64_t)>& finish,
    Workspace& ws);

}  // namespace commensal::kernels::cpu
