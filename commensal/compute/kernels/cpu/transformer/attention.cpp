// SPDX-License-Identifier: Apache-2.0
// Attention without its copies, as optimised graphs have it: the matrices of all heads are read
// where they lie.
#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_call.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_heads.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>

namespace commensal::kernels::cpu {

namespace {

void apply(const CpuKernels& kernels, char kind, float* x, const float* other, std::int64_t step,
           std::int64_t count) {
  const Binary what = kind == '+' ? Binary::kAdd : kind == '*' ? Binary::kMul : Binary::kDiv;
  kernels.binary[static_cast<std::size_t>(what)](x, 1, other, static_cast<int>(step), x, count);
}

/// Between the product and Softmax.
void finish_row(const Call& call, const AttentionCall& a, const CpuKernels& kernels,
                std::int64_t head, std::int64_t row, float* scores) {
  int input = 3;
  for (const ScoreStep& step : a.steps) {
    if (step.kind != '+') {
      apply(kernels, step.kind, scores, &step.number, 0, a.keys);
      continue;
    }
    const float* const bias = call.in(input++).data<float>().data() +
                              step.bias.matrix(head / a.heads, head % a.heads) +
                              row * step.bias.steps[2];
    apply(kernels, '+', scores, bias, step.bias.steps[3], a.keys);
  }
}

}  // namespace

core::Result<std::vector<TensorType>> infer_attention(const Call& call) {
  COMMENSAL_ASSIGN(const AttentionCall a, AttentionCall::of(call));
  for (const ScoreStep& step : a.steps) {
    if (step.kind == '+' && step.bias.steps[3] != 0 && step.bias.steps[3] != 1) {
      return core::fail(core::ErrorCode::kInvalidArgument, "scores and biases run differently");
    }
  }
  if (a.y.steps[3] != 1) {
    return core::fail(core::ErrorCode::kInvalidArgument, "the output's columns are apart");
  }
  return std::vector<TensorType>{{tensor::DType::kFloat32, a.shape}};
}

core::Result<void> attention(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const AttentionCall a, AttentionCall::of(call));
  if (outputs[0].elements() == 0) return {};
  const CpuKernels& kernels = kernels_for(ws.isa);
  float* const y = outputs[0].mutable_data<float>().data();
  AttentionHeads heads{a.batch * a.heads, a.queries, a.keys, a.depth, a.columns};
  heads.head = [&](std::int64_t head) {
    const std::int64_t b = head / a.heads, h = head % a.heads;
    const auto matrix = [&](int input, const HeadsView& view, bool turned) {
      return MatrixView{call.in(input).data<float>().data() + view.matrix(b, h),
                        view.steps[turned ? 3 : 2], view.steps[turned ? 2 : 3]};
    };
    return AttentionHeads::Head{matrix(0, a.q, false), matrix(1, a.k, false), matrix(2, a.v, true),
                                y + a.y.matrix(b, h), a.y.steps[2]};
  };
  heads.prepare = [&](float* q, std::int64_t count) {
    for (const ScoreStep& step : a.q_steps) apply(kernels, step.kind, q, &step.number, 0, count);
  };
  heads.finish = [&](std::int64_t head, std::int64_t row, float* scores) {
    finish_row(call, a, kernels, head, row, scores);
  };
  return heads.run(ws);
}

}  // namespace commensal::kernels::cpu
