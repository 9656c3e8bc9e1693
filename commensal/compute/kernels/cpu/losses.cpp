// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/ops.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

/// Its class, or -1 where `ignore_index` leaves it out; inference has checked them.
core::Result<std::vector<std::int64_t>> targets_of(const Call& call) {
  const Tensor& given = call.in(1);
  std::vector<std::int64_t> made;
  if (given.dtype() == tensor::DType::kInt32) {
    made.assign(given.data<std::int32_t>().begin(), given.data<std::int32_t>().end());
  } else {
    made.assign(given.data<std::int64_t>().begin(), given.data<std::int64_t>().end());
  }
  if (!call.attributes->has("ignore_index")) return made;
  COMMENSAL_ASSIGN(const std::int64_t ignored, call.attributes->integer("ignore_index", 0));
  std::ranges::replace(made, ignored, std::int64_t{-1});
  return made;
}

float canonical_number(float x) {
  return std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x;
}

}  // namespace

/// Rows of scores that lie side by side, without weights of classes.
core::Result<void> softmax_cross_entropy_loss(const Call& call, std::span<Tensor> outputs,
                                              Workspace& ws) {
  const tensor::Shape& shape = call.in(0).shape();
  const std::int64_t rows = shape[0], classes = shape[1];
  const bool are_rows = shape.elements(2, shape.rank()) == 1 && rows > 0 && classes > 0;
  if (call.in(0).dtype() != tensor::DType::kFloat32 || call.has(2) || !are_rows)
    return ref::kSoftmaxCrossEntropyLoss.best()(call, outputs, ws);
  COMMENSAL_ASSIGN(const auto targets, targets_of(call));
  COMMENSAL_ASSIGN(const std::string reduction, call.attributes->text("reduction", "mean"));
  const CpuKernels& kernels = kernels_for(ws.isa);
  const float* const x = call.in(0).data<float>().data();
  float* const logs = outputs.size() > 1 ? outputs[1].mutable_data<float>().data() : nullptr;
  std::vector<float> losses(static_cast<std::size_t>(rows));
  constexpr std::int64_t kTask = 16;  // rows
  COMMENSAL_TRY(run_with_scratch(
      ws, ceil_div(rows, kTask), classes + kernels.lanes, [&](std::int64_t task, float* scratch) {
        Pulse pulse(&ws.threads);
        for (std::int64_t r = task * kTask; r < std::min(rows, (task + 1) * kTask); ++r) {
          float* const row = logs == nullptr ? scratch : logs + r * classes;
          const std::int64_t target = targets[static_cast<std::size_t>(r)];
          // What is left out adds nothing: a lane begins at -0.
          float& loss = losses[static_cast<std::size_t>(r)];
          loss = reduction == "none" ? 0.0f : -0.0f;
          if (target < 0 && logs == nullptr) continue;
          kernels.log_softmax(x + r * classes, row, classes);
          if (target >= 0) loss = canonical_number(-row[target]);
          pulse(8 * classes);
        }
      }));
  float* const y = outputs[0].mutable_data<float>().data();
  if (reduction == "none") {
    std::ranges::copy(losses, y);
    return {};
  }
  const float sum = kernels.sum(losses.data(), rows);
  const auto counted = static_cast<float>(rows - std::ranges::count(targets, -1));
  *y = canonical_number(reduction == "mean" ? sum / counted : sum);
  return {};
}

}  // namespace commensal::kernels::cpu
