// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <vector>

namespace commensal::kernels::shape_inference {

/// Where the elements of broadcast inputs lie (numpy's rule): output element `index` reads element
/// source(i, index) of input i.
class Broadcast {
 public:
  /// Of all inputs of the call that are there. Error: kInvalidArgument naming two shapes.
  /// Before opset 7 the inputs after the first have its shape; only where attribute `broadcast` is
  /// set may the second be smaller: `limited`, at attribute `axis` or at the end.
  static core::Result<Broadcast> of(const Call& call);
  /// Input 1 has one element, or its dimensions are those of input 0 from `axis` on, or 1.
  static core::Result<Broadcast> limited(const Call& call, std::int64_t axis);

  const tensor::Shape& shape() const { return shape_; }
  std::int64_t source(int input, std::int64_t index) const;
  /// Strides of an input over shape(), 0 where it is repeated.
  const Dims& strides(int input) const { return inputs_[static_cast<std::size_t>(input)].strides; }

 private:
  enum class How { kSame, kScalar, kStrided };
  struct Input {
    How how = How::kSame;
    Dims strides{};
  };
  tensor::Shape shape_;
  std::vector<Input> inputs_;
};

}  // namespace commensal::kernels::shape_inference
