// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>

namespace commensal::kernels::shape_inference {

namespace {

core::Result<void> check_equal_shapes(const Call& call) {
  for (const Tensor* input : call.inputs) {
    if (input == nullptr || input->shape() == call.in(0).shape()) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "inputs {} and {} differ in shape",
                      call.in(0).shape().text(), input->shape().text());
  }
  return {};
}

}  // namespace

core::Result<Broadcast> Broadcast::limited(const Call& call, std::int64_t axis) {
  const tensor::Shape &whole = call.in(0).shape(), &part = call.in(1).shape();
  const bool single = part.elements() == 1;
  bool fits = single || (axis >= 0 && axis <= whole.rank() - part.rank());
  for (int d = 0; fits && !single && d < part.rank(); ++d) {
    fits = part[d] == 1 || part[d] == whole[static_cast<int>(axis) + d];
  }
  if (!fits) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{} does not lie on {} from axis {} on",
                      part.text(), whole.text(), axis);
  }
  Broadcast made;
  made.shape_ = whole;
  made.inputs_ = {Input{How::kSame, tensor::strides_of(whole)}, Input{How::kStrided, {}}};
  const auto own = tensor::strides_of(part);
  for (int d = 0; !single && d < part.rank(); ++d) {
    made.inputs_[1].strides[static_cast<std::size_t>(axis + d)] =
        part[d] == 1 ? 0 : own[static_cast<std::size_t>(d)];
  }
  return made;
}

core::Result<Broadcast> Broadcast::of(const Call& call) {
  if (call.opset < 7) {
    COMMENSAL_ASSIGN(const std::int64_t asked, call.attributes->integer("broadcast", 0));
    if (asked != 0 && call.inputs.size() == 2) {
      const std::int64_t at_end = call.in(0).shape().rank() - call.in(1).shape().rank();
      COMMENSAL_ASSIGN(const std::int64_t axis, call.attributes->integer("axis", at_end));
      return limited(call, axis < 0 ? axis + call.in(0).shape().rank() : axis);
    }
    COMMENSAL_TRY(check_equal_shapes(call));
  }
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

BroadcastRows::BroadcastRows(const Broadcast& broadcast, const Call& call)
    : broadcast_(&broadcast), outer_rank_(broadcast.shape().rank()) {
  const int inputs = static_cast<int>(call.inputs.size());
  const auto goes_on = [&](int input, std::size_t d, bool decided) {
    const std::int64_t stride = broadcast.strides(input)[d];
    return decided ? stride == inner_ * step(input) : stride <= 1;
  };
  bool decided = false;  // whether the steps are
  for (; outer_rank_ > 0; --outer_rank_) {
    const std::int64_t extent = broadcast.shape()[outer_rank_ - 1];
    if (extent == 1) continue;
    const auto d = static_cast<std::size_t>(outer_rank_ - 1);
    for (int i = 0; i < inputs; ++i) {
      if (call.has(i) && !goes_on(i, d, decided)) return;
    }
    for (int i = 0; i < inputs && !decided; ++i) {
      steps_[static_cast<std::size_t>(i)] =
          call.has(i) ? static_cast<int>(broadcast.strides(i)[d]) : 0;
      all_run_ = all_run_ && (!call.has(i) || step(i) == 1);
    }
    decided = true;
    inner_ *= extent;
  }
  all_run_ = all_run_ && decided;
}

std::int64_t BroadcastRows::offset(int input, std::int64_t row) const {
  std::int64_t at = 0;
  for (int d = outer_rank_ - 1; d >= 0; --d) {
    at += row % broadcast_->shape()[d] * broadcast_->strides(input)[static_cast<std::size_t>(d)];
    row /= broadcast_->shape()[d];
  }
  return at;
}

}  // namespace commensal::kernels::shape_inference
