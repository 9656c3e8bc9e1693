// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::shape_inference {

using core::ErrorCode;
using core::fail;
using tensor::DType;

core::Result<std::vector<std::int64_t>> integer_list(const Call& call, int input) {
  const Tensor& list = call.in(input);
  if (list.shape().rank() > 1 || list.elements() > limits::kNodeInputsMax) {
    return fail(ErrorCode::kInvalidArgument, "input {} must be a list of integers, not {}", input,
                list.type().text());
  }
  std::vector<std::int64_t> values;
  if (list.dtype() == DType::kInt64) {
    const auto data = list.data<std::int64_t>();
    values.assign(data.begin(), data.end());
  } else if (list.dtype() == DType::kInt32) {
    const auto data = list.data<std::int32_t>();
    values.assign(data.begin(), data.end());
  } else {
    return fail(ErrorCode::kInvalidArgument, "input {} must be int64, not {}", input,
                traits(list.dtype()).name);
  }
  return values;
}

core::Result<std::vector<std::int64_t>> list_from(const Call& call, std::string_view name,
                                                  int input, int since_input) {
  if (call.opset < since_input) return call.attributes->integers(name);
  if (!call.has(input)) return std::vector<std::int64_t>{};
  return integer_list(call, input);
}

core::Result<std::vector<int>> axes_of(const std::vector<std::int64_t>& axes, int rank) {
  std::vector<int> made;
  for (const std::int64_t axis : axes) {
    COMMENSAL_ASSIGN(const int one, tensor::normalise_axis(axis, rank));
    made.push_back(one);
  }
  std::sort(made.begin(), made.end());
  if (std::adjacent_find(made.begin(), made.end()) != made.end()) {
    return fail(ErrorCode::kInvalidArgument, "an axis is named twice");
  }
  return made;
}

}  // namespace commensal::kernels::shape_inference
