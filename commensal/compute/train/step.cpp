// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/kernels/draws.hpp>
#include <commensal/compute/train/loss.hpp>
#include <commensal/compute/train/memory.hpp>
#include <commensal/compute/train/optimiser.hpp>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using grad::Maker;
using grad::Value;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::TensorType;

namespace {

/// The way there and back of one part of a batch.
Result<std::shared_ptr<const Graph>> there_and_back(const WithLoss& model,
                                                    const StepRequest& request) {
  COMMENSAL_ASSIGN(auto gradients,
                   grad::with_gradients(model.graph, {model.inputs, model.name, request.weights}));
  if (gradients->inputs.size() != model.inputs.size() + request.weights.size())
    return fail(ErrorCode::kInvalidArgument, "a weight must be an initialiser, not an input");
  const Recompute& again = request.recompute;
  if (!again.all && again.names.empty()) return gradients;
  return recomputed(*gradients, opened_types(*gradients, model.inputs), model.graph.nodes.size(),
                    again);
}

/// What the optimiser makes of gradients. `inputs`: of a step, before the weights.
Result<Step> with_update(const Graph& gradients, const std::vector<TensorType>& inputs,
                         const std::string& loss, const StepRequest& request) {
  const auto types = opened_types(gradients, inputs);
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(gradients, types));
  Maker maker(gradients, std::move(known));
  Step step;
  step.batch_inputs = inputs.size();
  std::vector<Weight> weights;
  const std::size_t first = inputs.size();
  const std::size_t first_gradient = gradients.outputs.size() - request.weights.size();
  for (std::size_t i = 0; i < request.weights.size(); ++i) {
    weights.push_back({request.weights[i], maker.value(gradients.inputs[first + i]),
                       maker.value(gradients.outputs[first_gradient + i])});
    step.state.push_back({request.weights[i], types[first + i]});
  }
  const auto found = std::ranges::find_if(
      gradients.outputs, [&](ValueId id) { return gradients.name_of(id) == loss; });
  const ValueId loss_id = *found;
  const TensorType loss_type = maker.type(loss_id);
  if (loss_type.dtype != DType::kFloat32 && loss_type.dtype != DType::kFloat64) {
    return fail(ErrorCode::kUnsupported, "the loss is {}, expected float32 or float64",
                loss_type.text());
  }
  const Update update = add_update(maker, weights, request);
  COMMENSAL_TRY(maker.state());
  Graph& graph = maker.graph();
  graph.outputs = {loss_id};
  for (const Value& value : update.weights) graph.outputs.push_back(value.id);
  for (const Update::Kept& kept : update.kept) {
    step.state.push_back({kept.name, kept.next.type()});
    graph.outputs.push_back(kept.next.id);
  }
  step.graph = std::make_shared<const Graph>(std::move(graph));
  return step;
}

/// One of `parts` of a batch.
Result<TensorType> part_of(const TensorType& batch, std::int64_t parts) {
  std::vector<std::int64_t> dims(batch.shape.dims().begin(), batch.shape.dims().end());
  if (parts > 1 && (dims.empty() || dims[0] % parts != 0)) {
    return fail(ErrorCode::kInvalidArgument, "a batch of {} is not {} parts of the same size",
                batch.text(), parts);
  }
  if (parts > 1) dims[0] /= parts;
  COMMENSAL_ASSIGN(const auto shape, tensor::Shape::of(dims));
  return TensorType{batch.dtype, shape};
}

/// Of a Dropout.
Result<bool> drops(const Graph& graph, const graph::Node& node) {
  if (node.opset < 7) {
    COMMENSAL_ASSIGN(const std::int64_t is_test, node.attributes.integer("is_test", 0));
    return is_test == 0;
  }
  if (node.inputs.size() <= 2 || node.inputs[2] == graph::kAbsent) return false;
  const auto mode = graph.initialisers.find(node.inputs[2]);
  return mode == graph.initialisers.end() || mode->second.dtype() != DType::kBool ||
         mode->second.elements() != 1 || mode->second.data<bool>()[0];
}

/// What draws on the way to `ends` does so by its seed and places alone, in every step the same.
Result<void> check_draws(const Graph& graph, const std::vector<ValueId>& ends) {
  std::vector<bool> leads(graph.values.size(), false);
  const auto lead = [&](ValueId id) {
    if (id != graph::kAbsent) leads[static_cast<std::size_t>(id)] = true;
  };
  std::ranges::for_each(ends, lead);
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[i];
    const bool is_on_the_way = std::ranges::any_of(node.outputs, [&](ValueId id) {
      return id != graph::kAbsent && leads[static_cast<std::size_t>(id)];
    });
    if (!is_on_the_way) continue;
    std::ranges::for_each(node.inputs, lead);
    const auto refusal = [&](const char* what) {
      return core::in_context(graph::place_of(node), {ErrorCode::kUnsupported, what});
    };
    if (kernels::draws(*node.op)) return refusal("it would draw the same at every step");
    if (node.op->role == kernels::Role::kDropout) {
      COMMENSAL_ASSIGN(const bool is_on, drops(graph, node));
      if (is_on) {
        return refusal(
            "in training mode it would drop the same elements at every step, expected it off");
      }
    }
    for (const graph::Subgraph& inner : node.subgraphs) {
      std::ranges::for_each(inner.captures, lead);
      if (auto made = check_draws(*inner.graph, inner.graph->outputs); !made)
        return core::in_context(graph::place_of(node), made.error());
    }
  }
  return {};
}

}  // namespace

Result<Step> make_step(const Graph& model, const StepRequest& request) {
  if (request.weights.empty())
    return fail(ErrorCode::kInvalidArgument, "there are no weights to train");
  std::vector<TensorType> all = request.inputs, part;
  for (const TensorType& type : request.inputs) {
    COMMENSAL_ASSIGN(part.emplace_back(), part_of(type, request.accumulate));
  }
  TensorType target = request.target;
  if (request.loss.kind != LossKind::kValue) {
    COMMENSAL_ASSIGN(target, part_of(request.target, request.accumulate));
    all.push_back(request.target);
  }
  COMMENSAL_ASSIGN(const WithLoss made, with_loss(model, part, target, request.loss));
  const bool is_told = request.loss.kind == LossKind::kValue;
  COMMENSAL_TRY(check_draws(made.graph, is_told ? std::vector{made.output} : made.graph.outputs));
  COMMENSAL_ASSIGN(auto gradients, there_and_back(made, request));
  if (request.accumulate > 1) {
    COMMENSAL_ASSIGN(gradients, accumulated(*gradients, {all, made.inputs, request.accumulate,
                                                         made.name, request.weights.size()}));
  }
  COMMENSAL_ASSIGN(Step step, with_update(*gradients, all, made.name, request));
  step.classes = made.classes;
  return step;
}

}  // namespace commensal::train
