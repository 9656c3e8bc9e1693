// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/cost.hpp>
#include <limits>

namespace commensal::graph {

using kernels::Call;
using kernels::Operator;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// What no integer holds is more than any budget.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kMost : product;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kMost : sum;
}

// An element in the middle has all its steps; the first one may lie in a corner.
std::int64_t steps_of_element(const Operator& op, const Call& call, int output,
                              std::int64_t elements) {
  return std::max(op.judge->steps(call, output, elements / 9 * 4),
                  op.judge->steps(call, output, elements / 7 * 3));
}

// The steps of one output's element, 0 where it is no reduction.
std::int64_t steps_of(const Operator& op, const Call& call, int output, std::int64_t elements) {
  if (kernels::cost::is_of_inference(op.cost)) return 0;
  if (op.cost != nullptr) return op.cost(call);
  return op.judge->steps != nullptr ? steps_of_element(op, call, output, elements) : 0;
}

// Channels in blocks of 16 fill the last block: those beyond are computed, but nobody asked for
// them. Of both rows the first weights have an output channel each.
std::int64_t elements_of(const Operator& op, const Call& call, std::size_t output) {
  const tensor::Shape& shape = call.outputs[output].shape;
  const bool is_in_blocks =
      op.role == kernels::Role::kBlockedConv || op.role == kernels::Role::kBlockedExpand;
  if (!is_in_blocks || shape.elements() == 0) return shape.elements();
  const std::int64_t channels = shape[1] * shape[shape.rank() - 1];
  return shape.elements() / channels * call.in(1).shape()[0];
}

}  // namespace

Work work_of(const Operator& op, const Call& call) {
  Work work;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i] != nullptr) work.bytes += call.inputs[i]->type().bytes();
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const std::int64_t elements = elements_of(op, call, i);
    work.bytes += call.outputs[i].bytes();
    if (elements == 0) continue;
    const std::int64_t steps = steps_of(op, call, static_cast<int>(i), elements);
    work.ops = plus(work.ops, times(elements, steps > 0 ? times(2, steps) : 1));
  }
  return work;
}

std::int64_t ops_of_inference(const Operator& op, const Call& call) {
  return kernels::cost::is_of_inference(op.cost) ? times(2, op.cost(call)) : 0;
}

}  // namespace commensal::graph
