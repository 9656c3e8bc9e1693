// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/operator.hpp>
#include <limits>
#include <utility>

/// What rows name in column `cost`: the steps of an output element, from the inputs' shapes; or,
/// where is_of_inference() says so, those of all that inferring the outputs' types computes.
namespace commensal::kernels::cost {

/// Of a convolution, W being input 1: its input channels times the taps, those in the padding
/// included.
inline std::int64_t taps(const Call& call) {
  const tensor::Shape& weights = call.in(1).shape();
  return weights.rank() == 0 || weights[0] == 0 ? 0 : weights.elements() / weights[0];
}

/// Of a determinant: of n rows, n times each below it.
inline std::int64_t elimination(const Call& call) {
  const tensor::Shape& shape = call.in(0).shape();
  const std::int64_t side = shape.rank() == 0 ? 0 : shape[shape.rank() - 1];
  std::int64_t steps = 0;
  const bool fits = !__builtin_mul_overflow(side, side, &steps) &&
                    !__builtin_mul_overflow(steps, side / 3 + 1, &steps);
  return fits ? steps : std::numeric_limits<std::int64_t>::max();
}

/// The length of the first input's rows.
inline std::int64_t row(const Call& call) {
  const tensor::Shape& shape = call.in(0).shape();
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

/// Of a recurrent layer, W and R being inputs 1 and 2: for each unit of a step, its gates times
/// what comes in and what came out before.
inline std::int64_t recurrence(const Call& call) {
  const tensor::Shape &w = call.in(1).shape(), &r = call.in(2).shape();
  if (w.rank() != 3 || r.rank() != 3 || r[2] == 0) return 0;
  return w[1] / r[2] * (w[2] + r[2]);
}

/// Where the elements of a row, of a group or of all share facts: these are folded once, in a few
/// passes, however many steps the judge has for one element alone. Of each element that comes in.
inline std::int64_t passes(const Call& call) {
  constexpr std::int64_t kPasses = 4;
  std::int64_t made = 0;
  for (const TensorType& output : call.outputs) made += output.shape.elements();
  const std::int64_t read = call.in(0).shape().elements();
  return kPasses * std::max<std::int64_t>(made == 0 ? 0 : (read + made - 1) / made, 1);
}

/// Of a batch normalisation: only one that trains folds anything.
inline std::int64_t batch_norm(const Call& call) {
  const bool trains = call.attributes->integer("training_mode", 0).value_or(0) != 0 ||
                      call.output_count > 1 ||
                      (call.opset < 7 && call.attributes->integer("is_test", 0).value_or(0) == 0);
  return trains ? passes(call) : 0;
}

/// Of a pool: the taps of its window, along each axis as many as there are elements at most.
inline std::int64_t window(const Call& call) {
  const tensor::Shape& x = call.in(0).shape();
  const auto kernel = call.attributes->integers("kernel_shape");
  if (!kernel || std::cmp_not_equal(kernel->size() + 2, x.rank())) return 0;
  std::int64_t taps = 1;
  for (std::size_t d = 0; d < kernel->size(); ++d)
    taps *= std::min((*kernel)[d], x[static_cast<int>(d) + 2]);
  return taps;
}

/// Of NonMaxSuppression, scores and how many may be taken of a class being inputs 1 and 2: each box
/// is put in its order, and compared with those taken before, all by inference.
inline std::int64_t overlaps(const Call& call) {
  constexpr std::int64_t kStepsToOrder = 16;
  std::int64_t most = 0;
  if (!call.has(1) || call.in(1).shape().rank() != 3) return 0;  // infer refuses it
  const std::int64_t boxes = call.in(1).elements(), in_class = call.in(1).shape()[2];
  if (call.has(2) && call.in(2).dtype() == tensor::DType::kInt64 && call.in(2).elements() == 1) {
    most = std::clamp<std::int64_t>(call.in(2).data<std::int64_t>()[0], 0, in_class);
  }
  std::int64_t steps = 0;
  return __builtin_mul_overflow(boxes, most + kStepsToOrder, &steps)
             ? std::numeric_limits<std::int64_t>::max()
             : steps;
}
inline bool is_of_inference(CostFn cost) { return cost == overlaps; }

}  // namespace commensal::kernels::cost
