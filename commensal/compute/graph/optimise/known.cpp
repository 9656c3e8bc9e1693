// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_outlook.hpp>
#include <commensal/base/core/pacer.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::graph::optimise {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Call;
using kernels::Role;
using tensor::Tensor;
using tensor::TensorType;

namespace {

bool depends_on_type_only(const kernels::Operator& op) {
  return op.role == Role::kShape || op.role == Role::kSize;
}

/// None if it takes too much. Of formats of 16 bits and less: some number that is not 0.
std::optional<Tensor> ones(const TensorType& type, tensor::Arena& arena) {
  if (type.bytes() > limits::kGuessedBytesMax) return std::nullopt;
  auto made = Tensor::allocate(arena, type);
  if (!made) return std::nullopt;
  tensor::with_type(type.dtype, [&]<class T> {
    if constexpr (std::is_arithmetic_v<T>) {
      std::ranges::fill(made->template mutable_data<T>(), T{1});
    } else {
      std::ranges::fill(made->mutable_bytes(), std::uint8_t{1});
    }
  });
  return *std::move(made);
}

/// Takes what lasts long from a budget of operations, and gives up once that is spent: to infer the
/// types of what looks at elements may take as long as running it.
class Patience final : public core::Pacer {
 public:
  explicit Patience(std::int64_t& ops_left) : ops_left_(ops_left) {}
  bool pace(std::int64_t) override { return true; }
  bool yield() override { return (ops_left_ -= kOpsAPiece) > 0; }

 private:
  static constexpr std::int64_t kOpsAPiece = 1 << 12;
  std::int64_t& ops_left_;
};

/// What inferring a graph and those inside it takes.
struct Means {
  const kernels::ThreadPool* host;  // yielded to
  FoldBudget& budget;
  bool guesses = false;     // see guess_of
  bool is_bounded = false;  // what takes longer than all may is not known
  tensor::ZeroStandIns zeros{limits::kStandInBytesMax};
  tensor::Arena arena{limits::kMemoryBytesDefault};
  kernels::ThreadPool threads{1};
};

class Inference {
 public:
  /// `folded_bytes_max`: of a value that is computed ahead.
  Inference(const Graph& graph, const Types& inputs, Means& means, std::int64_t folded_bytes_max)
      : graph_(graph), means_(means), folded_bytes_max_(folded_bytes_max) {
    known_.types.resize(graph.values.size());
    known_.constants = graph.initialisers;
    for (const auto& [id, value] : graph.initialisers) type(id) = value.type();
    for (std::size_t i = 0; i < inputs.size(); ++i) type(graph.inputs[i]) = inputs[i];
  }

  void set_constant(ValueId id, const Tensor& value) { known_.constants.emplace(id, value); }

  Result<Known> run() {
    constexpr std::size_t kNodesAYield = 256;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (means_.guesses) {
        guess(graph_.nodes[i]);
        continue;
      }
      const bool yields = means_.host != nullptr && !means_.is_bounded;
      if (i % kNodesAYield == 0 && yields) means_.host->yield();
      const auto done = infer_in_time(graph_.nodes[i]);
      if (!done) return core::in_context(place_of(graph_.nodes[i]), done.error());
    }
    return std::move(known_);
  }

 private:
  Result<void> infer_in_time(const Node& node) {
    if (!means_.is_bounded) return infer(node);
    auto done = kernels::unless_stopped([&] { return infer(node); });
    return done ? *std::move(done) : Result<void>();
  }

  void guess(const Node& node) {
    const auto done = kernels::unless_stopped([&] { return infer(node); });
    const bool refuses = done && !done->has_value();
    if (!refuses || done->error().code != ErrorCode::kUnsupported || known_.unsupported) return;
    known_.unsupported = core::in_context(place_of(node), done->error()).value();
  }

  std::optional<TensorType>& type(ValueId id) { return known_.types[static_cast<std::size_t>(id)]; }

  /// Of the outputs of `inner` for inputs of these types.
  Types types_of_body(const Subgraph& inner, std::span<const TensorType> inputs) {
    Inference inference(*inner.graph, {inputs.begin(), inputs.end()}, means_,
                        limits::kFoldedInnerBytesMax);
    const std::size_t declared = inputs.size() - inner.captures.size();
    for (std::size_t i = 0; i < inner.captures.size(); ++i) {
      const auto constant = known_.constants.find(inner.captures[i]);
      if (constant != known_.constants.end())
        inference.set_constant(inner.graph->inputs[declared + i], constant->second);
    }
    const std::int64_t bytes = means_.budget.bytes;
    const auto known = inference.run();
    means_.budget.bytes = bytes;  // nothing but types is kept
    Types types;
    for (const ValueId id : inner.graph->outputs) {
      types.push_back(known ? known->types[static_cast<std::size_t>(id)] : std::nullopt);
    }
    return types;
  }

  /// A graph that refuses its inputs may never run.
  void infer_bodies(const Node& node) {
    const TypeOf type_of = [&](ValueId id) {
      return id == kAbsent || !type(id) ? nullptr : &*type(id);
    };
    std::vector<std::vector<TensorType>> inputs;
    std::vector<Types> outputs;
    for (const Subgraph& inner : node.subgraphs) {
      auto types = body_inputs(node, inner, type_of);
      if (!types) return;
      outputs.push_back(types_of_body(inner, *types));
      inputs.push_back(*std::move(types));
    }
    const Types made = outputs_of(node, inputs, outputs);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (node.outputs[i] != kAbsent) type(node.outputs[i]) = made[i];
    }
  }

  /// Error: the node refuses its inputs.
  Result<void> infer(const Node& node) {
    if (!node.subgraphs.empty()) {
      infer_bodies(node);
      return {};
    }
    const auto read = node.op->shaped_by();
    if (!read && (!means_.guesses || node.op->judge->infer == nullptr)) return {};
    std::vector<Tensor> typed(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size());
    bool all_known = true;
    kernels::Places unknown;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent) {
        const bool variadic = node.op->inputs.max == limits::kNodeInputsMax;
        if (variadic || static_cast<int>(i) < node.op->inputs.min)
          return fail(ErrorCode::kInvalidArgument, "input {} is missing", i);
        continue;
      }
      const auto constant = known_.constants.find(id);
      if (constant != known_.constants.end()) {
        inputs[i] = &constant->second;
        continue;
      }
      const bool is_read = !read || read->has(i);
      if (!type(id) || (is_read && !means_.guesses)) return {};
      if (type(id)->dtype == tensor::DType::kString) return {};
      all_known = all_known && !is_read && depends_on_type_only(*node.op);
      auto stand_in = is_read ? ones(*type(id), means_.arena) : means_.zeros.of(*type(id));
      if (!stand_in)
        return fail(ErrorCode::kResourceExhausted, "{} is too large", type(id)->text());
      typed[i] = *std::move(stand_in);
      inputs[i] = &typed[i];
      if (!is_read) unknown.bits |= kernels::Places::bit(i);
    }
    return infer(node, inputs, unknown, all_known);
  }

  Result<void> infer(const Node& node, std::span<const Tensor* const> inputs,
                     kernels::Places unknown, bool all_known) {
    for (const Tensor* input : inputs) {
      if (input != nullptr && input->dtype() == tensor::DType::kString) return {};
    }
    Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.unknown = unknown;
    call.output_count = static_cast<int>(node.outputs.size());
    call.pulse = kernels::Pulse(means_.host);
    COMMENSAL_ASSIGN(call.outputs, node.op->judge->infer(call));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType& made = call.outputs[i];
      if (made.dtype == tensor::DType::kString) return {};
      if (tensor::traits(made.dtype).size == 0)  // only a run can tell
        return means_.guesses ? type_by_run(node, call) : Result<void>();
      all_known = all_known && made.bytes() <= std::min(folded_bytes_max_, means_.budget.bytes / 4);
      if (node.outputs[i] != kAbsent) type(node.outputs[i]) = made;
    }
    return all_known ? fold(node, call) : Result<void>();
  }

  Result<void> type_by_run(const Node& node, const Call& call) {
    COMMENSAL_ASSIGN(const auto outputs, run(node, call));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent) type(node.outputs[i]) = outputs[i].type();
    }
    return {};
  }

  Result<void> fold(const Node& node, const Call& call) {
    // Where the same weight lies, so that whoever packs it knows it again.
    if (node.op->role == Role::kIdentity && node.outputs[0] != kAbsent) {
      known_.constants.insert_or_assign(node.outputs[0], call.in(0));
      return {};
    }
    COMMENSAL_ASSIGN(const auto outputs, run(node, call));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (node.outputs[i] == kAbsent) continue;
      known_.constants.insert_or_assign(node.outputs[i], outputs[i]);
      means_.budget.bytes -= outputs[i].type().bytes();
    }
    return {};
  }

  /// None: that is left to each run.
  Result<std::vector<Tensor>> run(const Node& node, const Call& call) {
    const std::int64_t ops = work_of(*node.op, call).ops;
    if (ops > means_.budget.ops) return std::vector<Tensor>();
    means_.budget.ops -= ops;
    COMMENSAL_ASSIGN(auto outputs, kernels::allocate_outputs(call, means_.arena));
    kernels::Workspace workspace{means_.arena, means_.threads};
    COMMENSAL_TRY(node.op->judge->run(call, outputs, workspace));
    return outputs;
  }

  const Graph& graph_;
  Means& means_;
  const std::int64_t folded_bytes_max_;
  Known known_;
};

Result<Known> known_of(const Graph& graph, const Types& inputs,
                       const std::map<ValueId, Tensor>& elements, Means& means) {
  Inference inference(graph, inputs, means, limits::kFoldedBytesMax);
  for (const auto& [id, value] : elements) inference.set_constant(id, value);
  return inference.run();
}

}  // namespace

FoldBudget FoldBudget::of(const Graph& graph) {
  FoldBudget made;
  for (const auto& [id, value] : graph.initialisers) {
    made.bytes += limits::kFoldedBytesAWeightByteMax * value.type().bytes();
  }
  return made;
}

Result<Known> known_of(const Graph& graph, std::span<const TensorType> inputs,
                       const kernels::ThreadPool* host) {
  FoldBudget budget = FoldBudget::of(graph);
  return known_of(graph, inputs, host, budget);
}

Result<Known> known_of(const Graph& graph, std::span<const TensorType> inputs,
                       const kernels::ThreadPool* host, FoldBudget& budget) {
  Means means{host, budget};
  return Inference(graph, {inputs.begin(), inputs.end()}, means, limits::kFoldedBytesMax).run();
}

namespace {

Result<Known> known_in_time(const Graph& graph, const Types& inputs, FoldBudget& budget,
                            const std::map<ValueId, Tensor>& elements, bool guesses) {
  Means means{nullptr, budget, guesses, true};
  Patience patience(budget.ops);
  const kernels::ThreadPool::Burst burst(means.threads, &patience);
  means.host = &means.threads;
  return known_of(graph, inputs, elements, means);
}

}  // namespace

Result<Known> known_of(const Graph& graph, const Types& inputs, FoldBudget& budget,
                       const std::map<ValueId, Tensor>& elements) {
  return known_in_time(graph, inputs, budget, elements, false);
}

Result<Known> guess_of(const Graph& graph, const Types& inputs, FoldBudget& budget,
                       const std::map<ValueId, Tensor>& elements) {
  return known_in_time(graph, inputs, budget, elements, true);
}

}  // namespace commensal::graph::optimise
