// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/infer/window.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <vector>

namespace commensal::kernels::infer {

/// Where the elements of broadcast inputs lie (numpy's rule): output element `index` reads element
/// source(i, index) of input i.
class Broadcast {
 public:
  /// Of all inputs of the call that are there. Error: kInvalidArgument naming two shapes.
  static core::Result<Broadcast> of(const Call& call);

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

}  // namespace commensal::kernels::infer
