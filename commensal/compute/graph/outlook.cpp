// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/outlook.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::graph {

using optimise::Known;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// Ends every kernel at its first piece: which loops it took is known by then.
class AtOnce final : public core::Pacer {
 public:
  bool pace(std::int64_t) override { return true; }
  bool yield() override { return false; }
};

class Asking {
 public:
  Asking(const Known& known, kernels::Isa isa) : known_(known), isa_(isa) {}

  /// Whether the judge's loops serve it, on zeros where no elements are known.
  bool is_judged(const Node& node) {
    const bool may_be = node.op->fast() != nullptr && !node.op->is_plain() && node.op->judge->infer;
    if (!may_be || std::ranges::all_of(node.outputs, [&](ValueId id) { return is_constant(id); }))
      return false;
    std::vector<Tensor> held(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size());
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kAbsent) continue;
      if (!fill(node.inputs[i], held[i])) return false;
      inputs[i] = &held[i];
    }
    kernels::Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.output_count = static_cast<int>(node.outputs.size());
    for (const ValueId id : node.outputs) {
      if (id == kAbsent || !type(id)) return false;
      call.outputs.push_back(*type(id));
    }
    return starts_judged(node, call);
  }

 private:
  bool is_constant(ValueId id) const { return id == kAbsent || known_.constants.contains(id); }
  const std::optional<TensorType>& type(ValueId id) const {
    return known_.types[static_cast<std::size_t>(id)];
  }

  bool fill(ValueId id, Tensor& tensor) {
    const auto constant = known_.constants.find(id);
    if (constant != known_.constants.end()) {
      tensor = constant->second;
      return tensor.dtype() != tensor::DType::kString;
    }
    auto made = type(id) ? zeros_.of(*type(id)) : std::nullopt;
    if (made) tensor = *std::move(made);
    return made.has_value();
  }

  bool starts_judged(const Node& node, kernels::Call& call) {
    auto outputs = kernels::allocate_outputs(call, arena_);
    if (!outputs) return false;
    const kernels::ThreadPool::Burst burst(threads_, &at_once_);
    call.pulse = kernels::Pulse(&threads_);
    kernels::Workspace workspace{arena_, threads_, isa_};
    kernels::unless_stopped([&] { return node.op->fast()(call, *outputs, workspace); });
    return call.is_judged && node.op->kind != kernels::Kind::kConstant;
  }

  const Known& known_;
  const kernels::Isa isa_;
  tensor::ZeroStandIns zeros_{limits::kStandInBytesMax};
  tensor::Arena arena_{limits::kMemoryBytesDefault};
  kernels::ThreadPool threads_{1};
  AtOnce at_once_;
};

}  // namespace

Outlook outlook_of(const Graph& graph) {
  Outlook outlook;
  Types inputs;
  for (const ValueId id : graph.inputs) {
    inputs.push_back(graph.values[static_cast<std::size_t>(id)].declared.type());
  }
  const auto known = optimise::known_of(graph, inputs);
  if (!known) {
    const bool is_refused = known.error().code != core::ErrorCode::kResourceExhausted;
    if (is_refused) outlook.refusal = known.error().message;
    return outlook;
  }
  const auto isas = kernels::available_isas();
  if (isas.empty()) return outlook;
  Asking asking(*known, isas.back());
  const auto text = [&](ValueId id) { return known->types[static_cast<std::size_t>(id)]->text(); };
  for (const Node& node : graph.nodes) {
    if (!asking.is_judged(node)) continue;
    const bool has_input = !node.inputs.empty() && node.inputs[0] != kAbsent;
    outlook.slow.push_back(
        {node.name, std::string(node.op->name),
         (has_input ? text(node.inputs[0]) + " to " : std::string()) + text(node.outputs[0])});
  }
  return outlook;
}

}  // namespace commensal::graph
