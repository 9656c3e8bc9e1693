// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_audit.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <commensal/verify/spot/contents.hpp>
#include <commensal/verify/spot/freivalds.hpp>
#include <commensal/verify/spot/question.hpp>
#include <commensal/verify/spot/sheet.hpp>
#include <commensal/verify/spot/spans.hpp>

namespace commensal::spot {
namespace {

using graph::Graph;
using graph::kAbsent;
using graph::Node;
using graph::ValueId;
using kernels::Kind;
using tensor::Tensor;
using tensor::TensorType;

class Surveyor {
 public:
  Surveyor(const Graph& graph, Survey& survey) : graph_(graph), survey_(survey) {}

  core::Result<void> look_at(std::size_t n);

 private:
  const TensorType* type(ValueId id) const {
    const auto& known = survey_.known.types[static_cast<std::size_t>(id)];
    const bool is_numbers = known && known->dtype != tensor::DType::kUndefined &&
                            known->dtype != tensor::DType::kString;
    return is_numbers ? &*known : nullptr;
  }
  bool can_be_opened(const Node& node) const;

  const Graph& graph_;
  Survey& survey_;
};

bool Surveyor::can_be_opened(const Node& node) const {
  const kernels::Operator& op = *node.op;
  if (op.infer == nullptr || op.element == nullptr || op.reads == nullptr) return false;
  std::int64_t elements = 0;
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    if (type(id) == nullptr) return false;
    elements += type(id)->shape.elements();
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (id == kAbsent) continue;
    if (type(id) == nullptr) return false;
    const bool is_steering = steers(op, static_cast<int>(i)) && !graph_.initialisers.contains(id);
    if (is_steering && all_leaves(*type(id)).size() > limits::kAuditSteeringLeavesMax) return false;
  }
  return elements > 0;
}

/// With stand-ins for what is not known; inputs that steer are taken for zeros where they are not
/// known, so that sizes are estimates there.
core::Result<void> Surveyor::look_at(std::size_t n) {
  const Node& node = graph_.nodes[n];
  Spot& spot = survey_.nodes[n];
  spot.is_product = node.op->kind == Kind::kDotProduct;
  if (!can_be_opened(node)) return {};
  std::vector<Sheet> sheets;
  sheets.reserve(node.inputs.size());
  std::vector<const Tensor*> inputs;
  bool is_steered = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    const auto found = survey_.known.constants.find(id);
    if (id == kAbsent || found != survey_.known.constants.end()) {
      inputs.push_back(id == kAbsent ? nullptr : &found->second);
      continue;
    }
    is_steered = is_steered || steers(*node.op, static_cast<int>(i));
    COMMENSAL_ASSIGN(auto sheet, Sheet::of(*type(id)));
    inputs.push_back(&sheets.emplace_back(std::move(sheet)).tensor());
  }
  kernels::Call call{node.opset, &node.attributes, inputs, static_cast<int>(node.outputs.size()),
                     {},         nullptr};
  auto types = node.op->infer(call);
  if (!types) return {};
  call.outputs = *std::move(types);

  Question middle{Method::kElement, n, 0, 0, {}};
  while (node.outputs[middle.output] == kAbsent ||
         call.outputs[middle.output].shape.elements() == 0) {
    ++middle.output;
  }
  const std::int64_t elements = call.outputs[middle.output].shape.elements();
  middle.place = elements / 2;
  // Where elements are looked up by what is not known yet, any element stands for all.
  const std::uint64_t steps = is_steered ? 1 : steps_of(*node.op, call, middle.place);
  if (steps > static_cast<std::uint64_t>(limits::kAuditStepsMax)) return {};
  const bool is_cheap = node.op->kind == Kind::kElementwise || node.op->kind == Kind::kMovement;
  spot.check = is_cheap ? Check::kLeaf : Check::kElement;
  spot.work = steps * static_cast<std::uint64_t>(elements);
  for (const ValueId id : node.outputs) {
    if (id == kAbsent) continue;
    spot.leaves += all_leaves(*type(id)).size();
    spot.elements += static_cast<std::uint64_t>(type(id)->shape.elements());
  }
  spot.is_large = is_large_product(*node.op, call);
  if (is_steered) return {};
  const auto opened = input_leaves(middle, *node.op, call);
  spot.opened = 1;
  for (std::size_t i = 0; i < opened.size(); ++i) {
    if (!graph_.initialisers.contains(node.inputs[i])) spot.opened += opened[i].size();
  }
  return {};
}

}  // namespace

std::uint64_t steps_of(const kernels::Operator& op, const kernels::Call& call,
                       std::int64_t element) {
  if (op.domain.empty() && op.name == "Conv") {
    const auto conv = kernels::infer::conv_of(call);
    return conv ? static_cast<std::uint64_t>(conv->depth()) : 1;
  }
  if (op.steps == nullptr) return 1;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(op.steps(call, 0, element), 1));
}

std::shared_ptr<const AuditModel> AuditModel::of(std::shared_ptr<const Graph> graph) {
  auto made = std::make_shared<AuditModel>();
  made->leaves = receipt::model_leaves(*graph);
  made->roots = receipt::model_roots(made->leaves);
  kernels::ThreadPool one(1);
  for (const auto& [id, tensor] : graph->initialisers) {
    if (tensor.dtype() == tensor::DType::kString) continue;
    made->weights[id] = {dispute::shaped_of(tensor.type()),
                         crypto::merkle_root(dispute::leaf_hashes(tensor.bytes(), one))};
  }
  made->graph = std::move(graph);
  return made;
}

core::Result<std::shared_ptr<const Survey>> Survey::of(const Graph& graph,
                                                       std::span<const TensorType> inputs) {
  auto known = graph::optimise::known_of(graph, inputs);
  if (!known) {
    return core::fail(core::ErrorCode::kInvalidArgument, "the graph refuses inputs of these types");
  }
  auto made = std::make_shared<Survey>();
  made->known = *std::move(known);
  made->nodes.resize(graph.nodes.size());
  for (const TensorType& type : inputs) {
    made->input_bytes += static_cast<std::uint64_t>(type.bytes());
  }
  for (const auto& [id, tensor] : graph.initialisers) {
    made->weight_bytes += static_cast<std::uint64_t>(tensor.type().bytes());
  }
  Surveyor surveyor(graph, *made);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    COMMENSAL_TRY(surveyor.look_at(n));
    made->work += made->nodes[n].work;
  }
  return std::shared_ptr<const Survey>(std::move(made));
}

}  // namespace commensal::spot
