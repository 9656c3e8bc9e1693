// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/spot/compact.hpp>
#include <commensal/verify/spot/sheet.hpp>

namespace commensal::spot {

using core::Result;
using kernels::Call;
using tensor::Tensor;

bool is_compact(const graph::Node& node, const Call& call) {
  const kernels::Operator& op = *node.op;
  if (op.kind != kernels::Kind::kElementwise || op.batching.rule == nullptr ||
      op.judge->run == nullptr || call.outputs.size() != 1) {
    return false;
  }
  return std::ranges::all_of(call.inputs, [&](const Tensor* input) {
    return input == nullptr || input->shape() == call.outputs[0].shape || input->elements() == 1;
  });
}

Result<void> run_compact(const graph::Node& node, const Call& call, const Marks& wanted,
                         const std::function<void(std::int64_t, std::uint64_t)>& put) {
  std::vector<Sheet> sheets;
  std::vector<const Tensor*> inputs;
  sheets.reserve(call.inputs.size());
  for (const Tensor* input : call.inputs) {
    inputs.push_back(input);
    if (input == nullptr || input->shape() != call.outputs[0].shape) continue;
    COMMENSAL_ASSIGN(Sheet sheet, Sheet::of({input->dtype(), {wanted.count()}}));
    std::int64_t at = 0;
    wanted.each([&](std::int64_t index) { sheet.put(at++, tensor::element_bits(*input, index)); });
    sheets.push_back(std::move(sheet));
    inputs.back() = &sheets.back().tensor();
  }
  Call small;
  small.opset = call.opset;
  small.attributes = call.attributes;
  small.inputs = inputs;
  COMMENSAL_ASSIGN(small.outputs, node.op->judge->infer(small));
  tensor::Arena arena{limits::kMemoryBytesDefault};
  kernels::ThreadPool threads{1};
  kernels::Workspace workspace{arena, threads};
  COMMENSAL_ASSIGN(auto outputs, kernels::allocate_outputs(small, arena));
  COMMENSAL_TRY(node.op->judge->run(small, outputs, workspace));
  if (outputs[0].elements() != wanted.count() || outputs[0].dtype() != call.outputs[0].dtype) {
    return core::fail(core::ErrorCode::kInternal, "'{}' gives {} of {} elements", node.name,
                      outputs[0].type().text(), wanted.count());
  }
  std::int64_t at = 0;
  wanted.each([&](std::int64_t index) { put(index, tensor::element_bits(outputs[0], at++)); });
  return {};
}

}  // namespace commensal::spot
