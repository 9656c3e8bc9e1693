// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/infer/broadcast.hpp>

namespace commensal::kernels::infer {

core::Result<Broadcast> Broadcast::of(const Call& call) {
  Broadcast made;
  for (const Tensor* input : call.inputs) {
    if (input == nullptr) continue;
    COMMENSAL_ASSIGN(made.shape_, tensor::broadcast(made.shape_, input->shape()));
  }
  for (const Tensor* input : call.inputs) {
    Input one;
    if (input != nullptr && input->shape() != made.shape_) {
      one.how = input->elements() == 1 ? How::kScalar : How::kStrided;
      const auto own = tensor::strides_of(input->shape());
      const int shift = made.shape_.rank() - input->shape().rank();
      for (int d = 0; d < input->shape().rank(); ++d) {
        one.strides[static_cast<std::size_t>(d + shift)] =
            input->shape()[d] == 1 ? 0 : own[static_cast<std::size_t>(d)];
      }
    } else {
      one.strides = tensor::strides_of(made.shape_);
    }
    made.inputs_.push_back(one);
  }
  return made;
}

std::int64_t Broadcast::source(int input, std::int64_t index) const {
  const Input& one = inputs_[static_cast<std::size_t>(input)];
  if (one.how == How::kSame) return index;
  if (one.how == How::kScalar) return 0;
  std::int64_t at = 0;
  for (int d = shape_.rank() - 1; d >= 0; --d) {
    at += index % shape_[d] * one.strides[static_cast<std::size_t>(d)];
    index /= shape_[d];
  }
  return at;
}

}  // namespace commensal::kernels::infer
