// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/session.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>
#include <commensal/verify/spot/marks.hpp>
#include <functional>
#include <span>

namespace commensal::spot {

/// Parts of a convolution of float32 over two dimensions, whose weights are there: blocks of
/// kSide x kSide places of its output, all channels of each, are a batch of small images to its
/// ordinary kernel, which makes an element a thousand times faster than `element` does. The bits
/// are those of the whole: tiles of the Winograd clause begin where they did, and a tap in the
/// padding, which is no step at all, adds +0 to a chain where its weight is finite; a sum of -0
/// that it turns into +0 the bias does anyway. Thread-safety: one thread.
class ConvBlocks {
 public:
  /// None where that is not so, or the whole is no larger than a block. `call` has its outputs'
  /// types; of the inputs behind the first all elements must be there.
  static std::optional<ConvBlocks> of(const graph::Node& node, const kernels::Call& call);

  /// Calls want(index) for the elements of the input that wanted ones depend on, each once.
  void reads(const Marks& wanted, const std::function<void(std::int64_t)>& want) const;
  /// Calls put(index, bits) for each wanted element. `input`: those that it depends on are there.
  /// Returns the operations that it took. Errors: those of Session::run.
  core::Result<std::int64_t> compute(const Marks& wanted, const tensor::Tensor& input,
                                     const graph::SessionOptions& options,
                                     const std::function<void(std::int64_t, std::uint64_t)>& put);

 private:
  static constexpr std::int64_t kSide = 16;  // a multiple of the tiles' sides, of no fewer than 13
  static constexpr std::int64_t kBatchFloats = 1 << 22;  // of the blocks' patches at once, about

  struct Block {
    std::int64_t image = 0, top = 0, left = 0;  // of the output
  };
  ConvBlocks(const kernels::shape_inference::Conv& conv, const kernels::Call& call,
             const graph::Node& node)
      : conv_(conv), node_(&node), weights_(call.in(1)) {
    if (conv.has_bias) bias_ = call.in(2);
  }
  bool has_same_bits() const;
  /// Of the input, in dimension d, that a block reads.
  std::int64_t patch(std::size_t d) const {
    return (kSide - 1) * conv_.window.stride[d] +
           (conv_.window.kernel[d] - 1) * conv_.window.dilation[d] + 1;
  }
  std::vector<Block> blocks_of(const Marks& wanted) const;
  std::shared_ptr<const graph::Graph> small_graph() const;
  void gather(const Block& block, std::span<const float> input, float* to) const;

  kernels::shape_inference::Conv conv_;
  const graph::Node* node_;
  tensor::Tensor weights_, bias_;
};

}  // namespace commensal::spot
