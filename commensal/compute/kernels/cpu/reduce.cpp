// SPDX-License-Identifier: Apache-2.0
// ReduceMean and ReduceSum over the last dimensions: rows of elements side by side.
#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/ref/folding.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;

/// Whether no dimension that is kept lies behind one that is folded.
bool folds_rows(const ref::Folding& folding) {
  bool folds = false;
  for (int d = 0; d < folding.from.rank(); ++d) {
    if (folds && folding.kept[d] > 1) return false;
    folds = folds || folding.folded[d] > 1;
  }
  return true;
}

/// Sums over the axes that the input or attribute names (an input from opset `since` on), divided
/// by `divisor`, or by their number of elements where it is 0.
core::Result<void> reduce(const Call& call, std::span<Tensor> outputs, Workspace& ws,
                          const Judge& judge, int since, float divisor) {
  COMMENSAL_ASSIGN(const auto axes, shape_inference::list_from(call, "axes", 1, since));
  COMMENSAL_ASSIGN(const std::int64_t noop, call.attributes->integer("noop_with_empty_axes", 0));
  COMMENSAL_ASSIGN(const auto folding, ref::Folding::of(call, axes, true, noop != 0));
  const bool serves = call.in(0).dtype() == DType::kFloat32 && !folding.identity &&
                      call.in(0).elements() > 0 && folds_rows(folding);
  if (!serves) return judge.best()(call, outputs, ws);
  const auto sum = kernels_for(ws.isa).sum;
  const float* x = call.in(0).data<float>().data();
  float* y = outputs[0].mutable_data<float>().data();
  const std::int64_t length = folding.count(), rows = outputs[0].elements();
  const float count = divisor == 0 ? static_cast<float>(length) : divisor;
  const std::int64_t rows_a_task = std::max<std::int64_t>(16384 / length, 1);
  ws.threads.run((rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    const std::int64_t end = std::min(rows, (task + 1) * rows_a_task);
    for (std::int64_t row = task * rows_a_task; row < end; ++row) {
      y[row] = ref::store<float>(sum(x + row * length, length) / count);
    }
  });
  return {};
}

}  // namespace

core::Result<void> reduce_mean(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return reduce(call, outputs, ws, ref::kReduceMean, 18, 0);
}

core::Result<void> reduce_sum(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  return reduce(call, outputs, ws, ref::kReduceSum, 13, 1);
}

}  // namespace commensal::kernels::cpu
