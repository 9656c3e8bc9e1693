// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/verify/dispute/planned.hpp>

namespace commensal::dispute {

using core::Result;
using graph::Graph;
using graph::ValueId;
using tensor::Tensor;

namespace {

/// Whether it has a place in a trace whatever its inputs, all of which are tensors.
bool runs_on_tensors(const graph::Node& node) {
  const bool has_all =
      std::ranges::none_of(node.inputs, [](ValueId id) { return id == graph::kAbsent; });
  return node.subgraphs.empty() && node.op->judge->infer != nullptr &&
         (node.op->values == nullptr || has_all);
}

std::vector<ValueId> outliving(const Graph& graph) {
  const Lives lives(graph);
  std::vector<ValueId> made;
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    if (lives.outlives(static_cast<ValueId>(id))) made.push_back(static_cast<ValueId>(id));
  }
  return made;
}

std::shared_ptr<const Graph> with_outputs(const Graph& graph, const std::vector<ValueId>& more) {
  auto made = std::make_shared<Graph>(graph);
  made->outputs.insert(made->outputs.end(), more.begin(), more.end());
  return made;
}

bool is_short(const Result<std::vector<Tensor>>& made) {
  return !made && made.error().code == core::ErrorCode::kResourceExhausted;
}

std::vector<tensor::TensorType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<tensor::TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type());
  return types;
}

/// Some of a graph's nodes, as a graph that puts out all that they make.
class Part {
 public:
  Part(const Graph& graph, std::size_t first, std::size_t count)
      : made_(std::make_shared<Graph>()) {
    made_->name = graph.name;
    for (const graph::ValueInfo& value : graph.values) made_->values.push_back({value.name, {}});
    const auto begin = graph.nodes.begin() + static_cast<std::ptrdiff_t>(first);
    made_->nodes.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    for (graph::Node& node : made_->nodes) {
      for (ValueId& id : node.outputs) {
        if (id == graph::kAbsent) id = nameless();  // a trace has those too
        made_->outputs.push_back(id);
      }
    }
  }

  /// Has a place for everything that the nodes read and do not make: in `constants`, or else to
  /// come from outside.
  template <class Constant>
  void connect(const Constant& constant) {
    std::vector<bool> is_there(made_->values.size());
    for (const ValueId id : made_->outputs) is_there[static_cast<std::size_t>(id)] = true;
    for (const graph::Node& node : made_->nodes) {
      for (const ValueId id : node.inputs) {
        if (id == graph::kAbsent || is_there[static_cast<std::size_t>(id)]) continue;
        is_there[static_cast<std::size_t>(id)] = true;
        if (const Tensor* known = constant(id)) {
          made_->initialisers.emplace(id, *known);
        } else {
          made_->inputs.push_back(id);
        }
      }
    }
  }
  const std::shared_ptr<Graph>& graph() const { return made_; }

 private:
  ValueId nameless() {
    made_->values.emplace_back();
    return static_cast<ValueId>(made_->values.size() - 1);
  }

  std::shared_ptr<Graph> made_;
};

const Tensor* found_in(const std::map<ValueId, Tensor>& values, ValueId id) {
  const auto found = values.find(id);
  return found == values.end() ? nullptr : &found->second;
}

/// What went into the part's nodes and came out of them.
std::vector<NodeRun> runs_of(const Graph& part, std::map<ValueId, Tensor> values) {
  std::vector<NodeRun> runs;
  for (const graph::Node& node : part.nodes) {
    NodeRun& run = runs.emplace_back();
    for (const ValueId id : node.inputs) {
      run.inputs.push_back(id == graph::kAbsent ? Tensor() : values.at(id));
    }
    for (const ValueId id : node.outputs) run.outputs.push_back(values.at(id));
  }
  return runs;
}

}  // namespace

PlannedTrace::PlannedTrace(const graph::Session& session)
    : model_(session.prepared()),
      kept_(outliving(session.graph())),
      with_kept_(std::make_shared<graph::Prepared>(with_outputs(session.graph(), kept_), *model_)) {
}

std::shared_ptr<PlannedTrace> PlannedTrace::of(const graph::Session& session) {
  const bool can_be = session.prepared()->isa() &&
                      std::ranges::all_of(session.graph().nodes, runs_on_tensors) &&
                      std::ranges::none_of(session.graph().initialisers, [](const auto& weight) {
                        return weight.second.dtype() == tensor::DType::kString;
                      });
  return std::shared_ptr<PlannedTrace>(can_be ? new PlannedTrace(session) : nullptr);
}

/// Texts have no place in a trace, and come from nowhere else where inputs are none.
bool PlannedTrace::may_have_texts(const graph::Program& program) const {
  return std::ranges::any_of(model_->graph().nodes, [&](const graph::Node& node) {
    if (node.op->strings != kernels::Strings::kOwn && node.op->kind != kernels::Kind::kConstant) {
      return false;
    }
    return std::ranges::any_of(node.outputs, [&](ValueId id) {
      if (id == graph::kAbsent) return false;
      const auto& declared = program.graph().values[static_cast<std::size_t>(id)].declared;
      return tensor::traits(declared.dtype).size == 0;  // also where it is not known
    });
  });
}

Result<std::optional<PlannedTrace::Run>> PlannedTrace::run(const RunOther& run_other,
                                                           const std::vector<Tensor>& inputs) {
  if (!can_plan_) return std::optional<Run>();
  auto outputs = run_other(*with_kept_, inputs);
  if (is_short(outputs)) return std::optional<Run>();
  Run made;
  COMMENSAL_ASSIGN(made.outputs, std::move(outputs));
  COMMENSAL_ASSIGN(made.program, with_kept_->planned(types_of(inputs)));  // it is there
  can_plan_ = !may_have_texts(*made.program);
  if (!can_plan_) return std::optional<Run>();
  const std::size_t own = model_->graph().outputs.size();
  for (std::size_t i = 0; i < kept_.size(); ++i) made.values[kept_[i]] = made.outputs[own + i];
  made.outputs.resize(own);
  return std::optional(std::move(made));
}

std::int64_t PlannedTrace::Run::bytes() const {
  std::int64_t all = 0;
  for (const auto& [id, value] : values) all += value.type().bytes();
  return all;
}

Result<std::optional<Segment>> PlannedTrace::segment(const RunOther& run_other,
                                                     const std::vector<Tensor>& inputs, Run run,
                                                     std::size_t first, std::size_t count) {
  if (run.values.empty()) {
    COMMENSAL_ASSIGN(auto again, this->run(run_other, inputs));
    if (!again) return std::optional<Segment>();
    run = *std::move(again);
  }
  const Graph& graph = model_->graph();
  Part part(graph, first, count);
  part.connect([&](ValueId id) {
    const Tensor* const weight = found_in(graph.initialisers, id);
    return weight != nullptr ? weight : found_in(run.program->graph().initialisers, id);
  });
  std::map<ValueId, Tensor> values = part.graph()->initialisers;
  std::vector<Tensor> given;
  for (const ValueId id : part.graph()->inputs) {
    const auto input = std::ranges::find(graph.inputs, id);
    given.push_back(input != graph.inputs.end()
                        ? inputs[static_cast<std::size_t>(input - graph.inputs.begin())]
                        : run.values.at(id));
    values[id] = given.back();
  }
  graph::Prepared prepared(part.graph(), *model_);
  const auto made = run_other(prepared, given);
  if (is_short(made)) return std::optional<Segment>();
  if (!made) return tl::unexpected(made.error());
  for (std::size_t i = 0; i < made->size(); ++i) values[part.graph()->outputs[i]] = (*made)[i];
  return std::optional(Segment{first, runs_of(*part.graph(), std::move(values))});
}

}  // namespace commensal::dispute
