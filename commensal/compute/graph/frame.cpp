// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/frame.hpp>

namespace commensal::graph {

namespace {

std::int64_t elements_of(const kernels::Attribute& attribute) {
  return std::visit(
      [](const auto& value) -> std::int64_t {
        if constexpr (requires { value.elements(); }) return value.elements();
        if constexpr (requires { value.size(); }) return std::ssize(value);
        return 1;
      },
      attribute);
}

/// About what a kernel parses out of a node: shapes, and some words of each element of attributes
/// and of what it reads ahead.
std::int64_t memo_bytes(const Graph& graph, const Node& node) {
  constexpr std::int64_t kShapes = 512, kElement = 32, kOperand = 192;
  std::int64_t bytes = kShapes + kOperand * (std::ssize(node.inputs) + std::ssize(node.outputs));
  for (const auto& [name, value] : node.attributes.all()) bytes += kElement * elements_of(value);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const auto constant = graph.initialisers.find(node.inputs[i]);
    if (constant != graph.initialisers.end() && node.op->reads_ahead(i)) {
      bytes += kElement * constant->second.elements();
    }
  }
  return bytes;
}

}  // namespace

void Program::Frame::Step::show_to(Tracer& tracer, const Node& node) const {
  if (coded.bits == 0) return tracer.before_node(node, call);
  kernels::Call shown = call;
  for (std::size_t i = 0; i < shown.outputs.size(); ++i) {
    if (coded.has(i)) shown.outputs[i].dtype = tensor::DType::kString;
  }
  tracer.before_node(node, shown);
}

core::Result<void> Program::Frame::Step::check_types() const {
  for (std::size_t k = 0; k < std::min(outputs.size(), call.outputs.size()); ++k) {
    const tensor::TensorType& made = call.outputs[k];
    if (made == outputs[k].type() && !coded.has(k)) continue;
    return core::fail(core::ErrorCode::kInvalidArgument, "output {} is {}, planned as {}", k,
                      made.text(), outputs[k].type().text());
  }
  return {};
}

Program::Frame::Frame(const Program& program, bool fixes)
    : program_(program),
      graph_(*program.graph_),
      values_(graph_.values.size()),
      stays_(graph_.values.size()),
      steps_(graph_.nodes.size()) {
  for (const auto& [id, constant] : graph_.initialisers) {
    value(id) = constant;
    stays_[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Node& node = graph_.nodes[i];
    Step& step = steps_[i];
    for (const ValueId id : node.inputs)
      step.inputs.push_back(id == kAbsent ? nullptr : &value(id));
    step.tensors.resize(node.inputs.size());
    step.call.opset = node.opset;
    step.call.attributes = &node.attributes;
    step.call.inputs = step.tensors;
    step.call.output_count = static_cast<int>(node.outputs.size());
    step.call.outputs = program.inferred_[i];
    // Those of optimised graphs may be steered by what changes.
    if (!step.call.outputs.empty() && !node.op->is_internal()) {
      step.call.memo.keep(program.cache_->memo_bytes_left(), memo_bytes(graph_, node));
    }
  }
  if (const std::int64_t small = fixes ? program.in_place_.small_bytes() : 0; small > 0) {
    tensor::Arena arena(2 * small);  // which rounds up
    const auto memory = tensor::Tensor::allocate(arena, {tensor::DType::kUint8, {small}});
    core::check(memory.has_value(), "an arena has room for what it was made for");
    for (std::size_t i = 0; i < steps_.size(); ++i) fix(i, *memory);
  }
  list_what_passes();
}

/// Nodes come in an order in which their inputs are fixed before them.
void Program::Frame::fix(std::size_t node, const tensor::Tensor& memory) {
  Step& step = steps_[node];
  const kernels::KernelFn kernel = program_.kernel_of(node);
  if (kernel == nullptr || graph_.nodes[node].op->values != nullptr) return;
  const auto& outputs = graph_.nodes[node].outputs;
  const auto lies_here = [&](ValueId id) { return program_.in_place_.small_place(id).has_value(); };
  const bool is_inferred = step.call.outputs.empty();  // in each run
  const bool is_planned = program_.form_ == Form::kPlanned && graph_.nodes[node].op->shaped_by();
  if (is_inferred && !is_planned) return;
  if (!std::ranges::all_of(outputs, lies_here)) return;
  step.is_fixed = true;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const auto id = static_cast<std::size_t>(outputs[k]);
    const auto at = program_.in_place_.small_place(outputs[k]);
    const auto& type = is_inferred ? *program_.declared_[id] : step.call.outputs[k];
    step.outputs.push_back(memory.part(*at, type));
    value(outputs[k]) = step.outputs.back();
    stays_[id] = true;
  }
  if (!is_inferred && bind_inputs(node)) step.bound = kernel;
}

/// Whether all of them stay.
bool Program::Frame::bind_inputs(std::size_t node) {
  const auto& ids = graph_.nodes[node].inputs;
  const auto is_settled = [&](ValueId id) { return id == kAbsent || stays(id); };
  if (!std::ranges::all_of(ids, is_settled)) return false;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != kAbsent) steps_[node].tensors[i] = &value(ids[i]).tensor();
  }
  return true;
}

void Program::Frame::list_what_passes() {
  for (std::size_t id = 0; id < values_.size(); ++id) {
    if (!stays_[id]) passing_.push_back(static_cast<ValueId>(id));
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].is_fixed || program_.inferred_[i].empty()) passing_nodes_.push_back(i);
    auto& released = released_.emplace_back(program_.released_[i]);
    std::erase_if(released, [&](ValueId id) { return stays(id); });
  }
}

void Program::Frame::clear() {
  for (const ValueId id : passing_) {
    if (!value(id).is_nothing()) value(id) = tensor::Value();
  }
  for (const std::size_t i : passing_nodes_) {
    if (!steps_[i].is_fixed) steps_[i].outputs.clear();
    if (program_.inferred_[i].empty()) steps_[i].call.memo.forget();
  }
}

Program::Frames::Lease::Lease(const Program& program, bool fixes)
    : from_(*program.frames_), fixes_(fixes) {
  {
    const std::lock_guard lock(from_.mutex_);
    auto& free = from_.free_[fixes ? 1 : 0];
    if (!free.empty()) {
      frame_ = std::move(free.back());
      free.pop_back();
    }
  }
  if (frame_ == nullptr) frame_ = std::make_unique<Frame>(program, fixes);
}

Program::Frames::Lease::~Lease() {
  frame_->clear();
  const std::lock_guard lock(from_.mutex_);
  from_.free_[fixes_ ? 1 : 0].push_back(std::move(frame_));
}

}  // namespace commensal::graph
