// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/grad/differentiate.hpp>
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/grad/step.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/train/optimiser.hpp>
#include <commensal/compute/train/step.hpp>
#include <set>

namespace commensal::train {

using core::ErrorCode;
using core::fail;
using core::Result;
using grad::attributes_of;
using grad::Maker;
using grad::Value;
using graph::Graph;
using graph::ValueId;
using tensor::DType;
using tensor::TensorType;

namespace {

constexpr const char* kLossName = "commensal.loss";

Result<ValueId> output_named(const Graph& model, const std::string& name) {
  for (const ValueId id : model.outputs) {
    if (model.name_of(id) == name) return id;
  }
  std::string names;
  for (const ValueId id : model.outputs) names += (names.empty() ? "" : ", ") + model.name_of(id);
  return fail(ErrorCode::kInvalidArgument, "the model has no output '{}', it has: {}", name, names);
}

struct WithLoss {
  Graph graph;
  std::string name;
  std::vector<TensorType> inputs;
};

Result<Value> add_loss(Maker& maker, Value output, const StepRequest& request) {
  const TensorType& type = output.type();
  const Value target = maker.input("commensal.target", request.target);
  if (request.loss.kind == LossKind::kMeanSquare) {
    if (target.type() != type) {
      return fail(ErrorCode::kInvalidArgument, "the target is {}, expected {} as output '{}'",
                  target.type().text(), type.text(), request.loss.output);
    }
    const Value off = output - target;
    return mean(off * off, grad::range(0, off.rank()), false);
  }
  grad::Dims places = output.dims();
  if (places.size() >= 2) places.erase(places.begin() + 1);
  if (type.shape.rank() < 2 || target.dims() != places || target.type().dtype != DType::kInt64) {
    return fail(ErrorCode::kInvalidArgument,
                "the target is {}, expected classes int64 for the scores {} of output '{}'",
                target.type().text(), type.text(), request.loss.output);
  }
  return maker.add("SoftmaxCrossEntropyLoss", {output, target});
}

Result<WithLoss> with_loss(const Graph& model, const StepRequest& request) {
  COMMENSAL_ASSIGN(const ValueId output, output_named(model, request.loss.output));
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(model, request.inputs));
  if (!known.types[static_cast<std::size_t>(output)]) {
    return fail(ErrorCode::kUnsupported, "the type of output '{}' is not known before it runs",
                request.loss.output);
  }
  if (request.loss.kind == LossKind::kValue)
    return WithLoss{model, request.loss.output, request.inputs};
  Maker maker(model, std::move(known));
  COMMENSAL_ASSIGN(const Value loss, add_loss(maker, maker.value(output), request));
  COMMENSAL_TRY(maker.state());
  WithLoss made{std::move(maker.graph()), kLossName, request.inputs};
  made.graph.values[static_cast<std::size_t>(loss.id)].name = kLossName;
  made.graph.outputs = {loss.id};
  made.inputs.push_back(request.target);
  return made;
}

/// Gradients, then what the optimiser makes of them.
Result<Step> with_update(const WithLoss& model, const StepRequest& request) {
  COMMENSAL_ASSIGN(const auto gradients,
                   grad::with_gradients(model.graph, {model.inputs, model.name, request.weights}));
  std::vector<TensorType> types = model.inputs;
  const std::size_t first = gradients->inputs.size() - request.weights.size();
  if (first != model.inputs.size()) {
    return fail(ErrorCode::kInvalidArgument, "a weight must be an initialiser, not an input");
  }
  for (std::size_t i = first; i < gradients->inputs.size(); ++i) {
    types.push_back(
        *gradients->values[static_cast<std::size_t>(gradients->inputs[i])].declared.type());
  }
  COMMENSAL_ASSIGN(auto known, graph::optimise::known_of(*gradients, types));
  Maker maker(*gradients, std::move(known));
  Step step;
  step.batch_inputs = first;
  std::vector<Weight> weights;
  const std::size_t first_gradient = gradients->outputs.size() - request.weights.size();
  for (std::size_t i = 0; i < request.weights.size(); ++i) {
    weights.push_back({request.weights[i], maker.value(gradients->inputs[first + i]),
                       maker.value(gradients->outputs[first_gradient + i])});
    step.state.push_back({request.weights[i], types[first + i]});
  }
  const auto loss = std::ranges::find_if(
      gradients->outputs, [&](ValueId id) { return gradients->name_of(id) == model.name; });
  const ValueId loss_id = *loss;
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

/// A Dropout draws by its seed and place alone, in every step the same.
Result<void> check_dropouts(const Graph& model) {
  for (const graph::Node& node : model.nodes) {
    if (grad::rule_of(*node.op) != grad::rules::dropout) continue;
    bool trains = false;
    if (node.opset < 7) {
      COMMENSAL_ASSIGN(const std::int64_t is_test, node.attributes.integer("is_test", 0));
      trains = is_test == 0;
    } else if (node.inputs.size() > 2 && node.inputs[2] != graph::kAbsent) {
      const auto mode = model.initialisers.find(node.inputs[2]);
      trains = mode == model.initialisers.end() || mode->second.dtype() != DType::kBool ||
               mode->second.elements() != 1 || mode->second.data<bool>()[0];
    }
    if (!trains) continue;
    return core::in_context(
        graph::place_of(node),
        {ErrorCode::kUnsupported,
         "in training mode it would drop the same elements at every step, expected it off"});
  }
  return {};
}

}  // namespace

Result<Step> make_step(const Graph& model, const StepRequest& request) {
  if (request.weights.empty())
    return fail(ErrorCode::kInvalidArgument, "there are no weights to train");
  COMMENSAL_TRY(check_dropouts(model));
  COMMENSAL_ASSIGN(const WithLoss made, with_loss(model, request));
  return with_update(made, request);
}

Result<std::vector<std::string>> trained_weights(const Graph& model, const std::string& output) {
  COMMENSAL_ASSIGN(const auto all, grad::weights_of(model, output));
  std::set<ValueId> statistics;
  for (const graph::Node& node : model.nodes) {
    if (node.op->role != kernels::Role::kBatchNormalization || node.inputs.size() < 5) continue;
    statistics.insert({node.inputs[3], node.inputs[4]});
  }
  std::vector<std::string> made;
  for (const std::string& name : all) {
    const auto at = std::ranges::find_if(
        model.initialisers, [&](const auto& entry) { return model.name_of(entry.first) == name; });
    if (at->second.shape().rank() > 0 && !statistics.contains(at->first)) made.push_back(name);
  }
  return made;
}

}  // namespace commensal::train
