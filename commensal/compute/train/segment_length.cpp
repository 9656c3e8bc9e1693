// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/limits_training.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/tensor/stand_in.hpp>
#include <commensal/compute/train/samples.hpp>
#include <commensal/compute/train/segment.hpp>

namespace commensal::train {

using core::Result;
using tensor::Tensor;
using tensor::TensorType;

namespace {

// Of a processor that hashes 1.2 GB/s where it does 70 GFLOP/s; a thousandth may be hashed.
constexpr std::int64_t kOpsOfAHashedByte = 60, kShare = 1000;
constexpr std::int64_t kSegments = 8;  // at least, of as many steps

std::int64_t ops_of(const graph::Node& node, const graph::optimise::Known& known,
                    tensor::ZeroStandIns& zeros) {
  std::vector<Tensor> kept(node.inputs.size());
  std::vector<const Tensor*> inputs(node.inputs.size());
  kernels::Call call;
  const auto type_of = [&](graph::ValueId id) { return known.types[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    if (id == graph::kAbsent) continue;
    const auto constant = known.constants.find(id);
    if (constant != known.constants.end()) {
      inputs[i] = &constant->second;
      continue;
    }
    const auto type = type_of(id);
    auto zero = type ? zeros.of(*type) : std::nullopt;
    if (!zero) return 0;
    kept[i] = *std::move(zero);
    inputs[i] = &kept[i];
  }
  for (const graph::ValueId id : node.outputs) {
    if (id == graph::kAbsent) continue;
    if (!type_of(id)) return 0;
    call.outputs.push_back(*type_of(id));
  }
  call.opset = node.opset;
  call.attributes = &node.attributes;
  call.inputs = inputs;
  call.output_count = static_cast<int>(node.outputs.size());
  return graph::work_of(*node.op, call).ops;
}

}  // namespace

std::int64_t best_length(std::int64_t steps, std::int64_t wanted, std::int64_t most) {
  most = std::min(most, (steps + kSegments - 1) / kSegments);
  wanted = std::min(wanted, most);
  std::int64_t best = 0;
  for (std::int64_t each = (wanted + 1) / 2; each <= std::min(2 * wanted, most); ++each) {
    if (steps % each != 0) continue;
    best = each;
    if (each >= wanted) break;
  }
  return best > 0 ? best : wanted;
}

std::vector<TensorType> step_types(const Trainer& trainer) {
  std::vector<TensorType> types;
  for (const Tensor& samples : trainer.data()) {
    types.push_back(batch_of(samples, trainer.plan().batch));
  }
  for (const Step::Entry& entry : trainer.step_graph().state) types.push_back(entry.type);
  return types;
}

Result<std::int64_t> segment_length(const Trainer& trainer) {
  const graph::Graph& graph = *trainer.step_graph().graph;
  COMMENSAL_ASSIGN(const auto known, graph::optimise::known_of(graph, step_types(trainer)));
  tensor::ZeroStandIns zeros(limits::kStandInBytesMax);
  std::int64_t ops = 1, bytes = 0;
  for (const graph::Node& node : graph.nodes) ops += ops_of(node, known, zeros);
  for (const Checkpoint::Entry& entry : trainer.state()) bytes += entry.value.type().bytes();
  const auto nodes = static_cast<std::int64_t>(std::max<std::size_t>(1, graph.nodes.size()));
  const std::int64_t most = std::clamp<std::int64_t>(
      std::min(limits::kStepOpsMax / 4 / ops, limits::kSegmentNodesMax / nodes), 1,
      limits::kTrainingStepsMax);
  const std::int64_t wanted = std::min(most, (bytes * kOpsOfAHashedByte * kShare + ops - 1) / ops);
  const std::int64_t steps = trainer.plan().steps, done = trainer.done();
  // What is left of a training goes on in its segments, whose model is at the gateway already.
  const std::int64_t best = best_length(steps, wanted, most), left = steps - done;
  return done % best == 0 ? std::min(best, left) : best_length(left, wanted, most);
}

}  // namespace commensal::train
