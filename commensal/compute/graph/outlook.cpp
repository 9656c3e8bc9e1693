// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <commensal/base/core/limits_outlook.hpp>
#include <commensal/compute/graph/inner_name.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/graph/outlook.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::graph {

using optimise::Known;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// Ends every kernel at its first task: it has chosen its loops by then.
class AtOnce final : public core::Pacer {
 public:
  bool pace(std::int64_t) override { return true; }
  bool yield() override { return false; }
};

/// Lets a kernel parse, pack and widen, by which some choose, until it has turned to the judge's
/// loops or all that kernels may take together is spent.
class UntilJudged final : public core::Pacer {
 public:
  /// For another call, which outlives its kernel's run.
  void watch(const kernels::Call& call) {
    call_ = &call;
    left_ = limits::kChoosingYieldsMax;
    is_spent_ = false;
  }
  bool pace(std::int64_t) override { return true; }
  bool yield() override {
    if (call_->is_judged) return false;
    is_spent_ = --left_ <= 0 || --total_left_ <= 0;
    return !is_spent_;
  }
  bool is_spent() const { return is_spent_; }

 private:
  const kernels::Call* call_ = nullptr;
  std::int64_t left_ = 0, total_left_ = limits::kChoosingYieldsTotalMax;
  bool is_spent_ = false;
};

constexpr std::int64_t kAskedBytesMin = 256 << 10;                // that it counts for
constexpr std::int64_t kAskedBytesTotal = std::int64_t{8} << 30;  // all nodes together
constexpr std::int64_t kOutlookOpsMax = 1 << 25;
/// Taken for each free dimension, until one is not refused: of pictures, some are too small.
constexpr std::int64_t kFreeTaken[] = {1, 2, 8, 64, 256};

/// Asks kernels whether they serve, on zeros where no elements are known.
class Asking {
 public:
  /// `guesses`: what is known may be of a guess.
  Asking(kernels::Isa isa, bool guesses) : isa_(isa), guesses_(guesses) {}

  /// Whether the judge's loops serve it, and its types as shown; none: not known.
  struct Answer {
    bool is_judged = false;
    std::string types;
  };
  std::optional<Answer> ask(const Graph& graph, const Known& known, const Node& node) {
    if (bytes_left_ < kAskedBytesMin) return std::nullopt;
    std::vector<Tensor> held(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size());
    kernels::Call call;
    std::int64_t bytes = kAskedBytesMin;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent) continue;
      if (!known.constants.contains(id)) call.unknown.bits |= kernels::Places::bit(i);
      if (!fill(known, id, held[i])) return std::nullopt;
      inputs[i] = &held[i];
      // What is packed is made anew, as large as it is.
      if (!graph.initialisers.contains(id) || node.op->pack != nullptr)
        bytes += held[i].type().bytes();
    }
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.output_count = static_cast<int>(node.outputs.size());
    if (!fill_outputs(known, node, call)) return std::nullopt;
    if (guesses_ && call.outputs.front().shape.elements() == 0) return std::nullopt;
    call.unknown = {};  // they have elements now
    for (const TensorType& output : call.outputs) {
      bytes += std::min(output.bytes(), limits::kAskedBytesMax);
    }
    if (bytes > std::min(limits::kAskedBytesMax, bytes_left_)) return std::nullopt;
    bytes_left_ -= bytes;
    const std::string from =
        inputs.empty() || inputs[0] == nullptr ? std::string() : held[0].type().text() + " to ";
    const std::string types = from + call.outputs.front().text();
    const auto is_judged = starts_judged(node, call);
    if (!is_judged) return std::nullopt;
    return Answer{*is_judged, types};
  }

 private:
  bool fill(const Known& known, ValueId id, Tensor& tensor) {
    const auto constant = known.constants.find(id);
    if (constant != known.constants.end()) {
      tensor = constant->second;
      return tensor.dtype() != tensor::DType::kString;
    }
    const auto& type = known.types[static_cast<std::size_t>(id)];
    auto made = type ? zeros_.of(*type) : std::nullopt;
    if (made) tensor = *std::move(made);
    return made.has_value();
  }

  bool fill_outputs(const Known& known, const Node& node, kernels::Call& call) {
    bool some_absent = false;
    for (const ValueId id : node.outputs) {
      some_absent = some_absent || id == kAbsent;
      const auto type = id == kAbsent ? TensorType() : known.types[static_cast<std::size_t>(id)];
      if (!type) return false;
      call.outputs.push_back(*type);
    }
    if (!some_absent) return true;
    auto made = node.op->judge->infer(call);
    if (!made) return false;
    call.outputs = *std::move(made);
    return std::ranges::none_of(
        call.outputs, [](const TensorType& type) { return tensor::traits(type.dtype).size == 0; });
  }

  /// None: it has not chosen.
  std::optional<bool> starts_judged(const Node& node, kernels::Call& call) {
    auto outputs = kernels::allocate_outputs(call, arena_);
    if (!outputs) return std::nullopt;
    const kernels::ThreadPool::Burst tasks(threads_, &at_once_);
    const kernels::ThreadPool::Burst choice(choosing_, &until_judged_);
    until_judged_.watch(call);
    call.pulse = kernels::Pulse(&choosing_);
    kernels::Workspace workspace{arena_, threads_, isa_};
    const auto ended =
        kernels::unless_stopped([&] { return node.op->fast()(call, *outputs, workspace); });
    if (!call.is_judged && (until_judged_.is_spent() || (ended && !*ended))) return std::nullopt;
    return call.is_judged && node.op->kind != kernels::Kind::kConstant;
  }

  const kernels::Isa isa_;
  const bool guesses_;
  std::int64_t bytes_left_ = kAskedBytesTotal;
  tensor::ZeroStandIns zeros_{limits::kAskedBytesMax};
  tensor::Arena arena_{limits::kAskedScratchBytesMax};
  kernels::ThreadPool threads_{1};   // of tasks
  kernels::ThreadPool choosing_{1};  // of what comes before them
  AtOnce at_once_;
  UntilJudged until_judged_;
};

using Infer = core::Result<Known> (*)(const Graph&, const Types&, optimise::FoldBudget&,
                                      const std::map<ValueId, Tensor>&);

/// Looks at a graph and those inside it.
class Looking {
 public:
  /// `free`: what free dimensions may be taken for, the best first.
  Looking(Infer infer, std::span<const std::int64_t> free) : infer_(infer), free_(free) {
    const auto isas = kernels::available_isas();
    if (!isas.empty()) asking_.emplace(isas.back(), infer == optimise::guess_of);
  }

  Outlook look(const Graph& graph) {
    Types inputs;
    for (const ValueId id : graph.inputs) {
      inputs.push_back(graph.values[static_cast<std::size_t>(id)].declared.type());
    }
    auto known = infer(graph, inputs);
    if (!known && is_refusal(known.error())) {
      outlook_.refusal = known.error().message;
      return std::move(outlook_);
    }
    if (known) guess_dimensions(graph, inputs, *known);
    if (!outlook_.refusal.empty()) return std::move(outlook_);
    if (known && known->unsupported) outlook_.refusal = known->unsupported->message;
    look(graph, or_nothing(graph, std::move(known)), "");
    return std::move(outlook_);
  }
  /// After a look: without what was refused, if anything was not.
  std::span<const std::int64_t> free() const { return free_; }

 private:
  static Types inputs_with(const Graph& graph, std::int64_t free) {
    Types inputs;
    for (const ValueId id : graph.inputs) {
      Declared declared = graph.values[static_cast<std::size_t>(id)].declared;
      for (std::int64_t& dim : declared.dims) dim = dim < 0 ? free : dim;
      inputs.push_back(declared.type());
    }
    return inputs;
  }

  /// Replaces what is known where some number is accepted for the free dimensions. What element
  /// types or attributes refuse no number mends; of other refusals who has declared no dimension
  /// may yet know better.
  void guess_dimensions(const Graph& graph, const Types& inputs, Known& known) {
    std::string first;
    for (const std::int64_t& free : free_) {
      const Types guessed = inputs_with(graph, free);
      if (guessed == inputs) return;
      auto other = infer(graph, guessed);
      if (other) {
        known = *std::move(other);
        free_ = {&free, 1};
        return;
      }
      if (!is_refusal(other.error())) return;
      if (other.error().code == core::ErrorCode::kUnsupported) {
        outlook_.refusal = other.error().message;
        return;
      }
      if (first.empty()) first = other.error().message;
    }
    outlook_.doubt = fmt::format("with any of {} for each free dimension; with {}: {}",
                                 fmt::join(free_, ", "), free_.front(), first);
  }

  core::Result<Known> infer(const Graph& graph, const Types& inputs,
                            const std::map<ValueId, Tensor>& elements = {}) {
    optimise::FoldBudget budget = optimise::FoldBudget::of(graph);
    budget.ops = ops_left_;
    auto known = infer_(graph, inputs, budget, elements);
    ops_left_ = budget.ops;
    return known;
  }

  static bool is_refusal(const core::Error& error) {
    return error.code != core::ErrorCode::kResourceExhausted;
  }

  static Known or_nothing(const Graph& graph, core::Result<Known> known) {
    if (known) return *std::move(known);
    Known nothing;
    nothing.types.resize(graph.values.size());
    return nothing;
  }

  void look(const Graph& graph, const Known& known, const std::string& around) {
    for (const Node& node : graph.nodes) {
      look_at(graph, known, node, around);
      for (const Subgraph& inner : node.subgraphs) look_inside(known, node, inner, around);
    }
  }

  void look_at(const Graph& graph, const Known& known, const Node& node,
               const std::string& around) {
    const bool may_be = node.op->fast() != nullptr && !node.op->is_plain() && node.op->judge->infer;
    const auto is_constant = [&](ValueId id) {
      return id == kAbsent || known.constants.contains(id);
    };
    if (!asking_ || !may_be || std::ranges::all_of(node.outputs, is_constant)) return;
    auto answer = asking_->ask(graph, known, node);
    if (!answer) {
      ++outlook_.unknown;
    } else if (answer->is_judged) {
      outlook_.slow.push_back(
          {inner_name(around, node.name), std::string(node.op->name), std::move(answer->types)});
    }
  }

  void look_inside(const Known& known, const Node& node, const Subgraph& inner,
                   const std::string& around) {
    const TypeOf type_of = [&](ValueId id) {
      const auto* type = id == kAbsent ? nullptr : &known.types[static_cast<std::size_t>(id)];
      return type == nullptr || !*type ? nullptr : &**type;
    };
    Types inputs(inner.graph->inputs.size());
    std::map<ValueId, Tensor> elements;
    if (const auto types = body_inputs(node, inner, type_of))
      inputs = {types->begin(), types->end()};
    const std::size_t declared = inputs.size() - inner.captures.size();
    for (std::size_t i = 0; i < inner.captures.size(); ++i) {
      const ValueId id = inner.captures[i];
      inputs[declared + i] = known.types[static_cast<std::size_t>(id)];
      const auto constant = known.constants.find(id);
      if (constant != known.constants.end())
        elements.emplace(inner.graph->inputs[declared + i], constant->second);
    }
    const std::string place = inner_name(inner_name(around, node.name), "/" + inner.name + "/");
    auto inside = infer(*inner.graph, inputs, elements);
    if (!inside && is_refusal(inside.error()) && outlook_.doubt.empty())
      outlook_.doubt = fmt::format("{}: {}", place, inside.error().message);
    look(*inner.graph, or_nothing(*inner.graph, std::move(inside)), place);
  }

  const Infer infer_;
  std::span<const std::int64_t> free_;
  Outlook outlook_;
  std::optional<Asking> asking_;  // none: all is slow here
  std::int64_t ops_left_ = kOutlookOpsMax;
};

}  // namespace

Outlook outlook_of(const Graph& graph) {
  Looking inferring(optimise::known_of, kFreeTaken);
  Outlook outlook = inferring.look(graph);
  if (outlook.unknown == 0) return outlook;
  Outlook guess = Looking(optimise::guess_of, inferring.free()).look(graph);
  if (outlook.refusal.empty()) outlook.refusal = std::move(guess.refusal);
  outlook.slow = std::move(guess.slow);
  outlook.unknown = guess.unknown;
  return outlook;
}

}  // namespace commensal::graph
