// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/place_of.hpp>
#include <commensal/compute/graph/work.hpp>
#include <commensal/compute/kernels/batching/rules.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::graph {
namespace {

using kernels::Call;
using kernels::Role;
using kernels::RowCounts;
using tensor::Shape;
using tensor::Tensor;
using tensor::TensorType;

// Every node is looked at with each of these numbers of rows: what fits one of them by chance does
// not fit the others.
constexpr std::array<std::int64_t, 3> kRows = {1, 2, 5};
using Values = std::array<Tensor, kRows.size()>;

// What does not depend on the inputs is computed here, within these bounds of all nodes together.
constexpr std::int64_t kOpsMax = std::int64_t{1} << 30;
constexpr std::int64_t kPiecesMax = 1 << 16;  // of a kernel, or of looking at a node
constexpr std::int64_t kMarkedElementsMax = 1 << 10;

// How an element that does not depend on the inputs' elements depends on the number of rows.
enum class Mark : std::uint8_t { kNone, kIsRows, kOther };

struct Fact {
  bool batched = false;     // row i depends on row i of the inputs, and on nothing else
  Values values;            // in each trial; of a batched value only the types mean something
  std::vector<Mark> marks;  // empty: no element depends on the number of rows
  bool wild = false;        // it does, shape included
  bool depends_on_rows() const { return wild || !marks.empty(); }
};

/// Gives up after so many pieces of work, or when `host`, if there is one, says so.
class Patience final : public core::Pacer {
 public:
  explicit Patience(core::Pacer* host) : host_(host) {}
  bool pace(std::int64_t) override { return true; }
  bool yield() override { return --left_ > 0 && (host_ == nullptr || host_->yield()); }
  bool is_spent() const { return left_ <= 0; }

 private:
  core::Pacer* const host_;
  std::int64_t left_ = kPiecesMax;
};

class Analysis {
 public:
  explicit Analysis(const Graph& graph) : graph_(graph), facts_(graph.values.size()) {}

  /// None: `host` said no.
  std::optional<std::string> objection(std::span<const TensorType> request, core::Pacer* host) {
    Patience patience(host);
    const kernels::ThreadPool::Burst burst(one_, &patience);
    auto judged = kernels::unless_stopped([&] { return look(request); });
    if (judged) return *std::move(judged);
    if (!patience.is_spent()) return std::nullopt;
    return "the model takes too long to be judged";
  }

 private:
  std::string look(std::span<const TensorType> request) {
    for (std::size_t i = 0; i < request.size(); ++i) {
      if (auto why = declare_input(graph_.inputs[i], request[i]); !why.empty()) return why;
    }
    for (const auto& [id, value] : graph_.initialisers) fact(id).values.fill(value);
    constexpr std::size_t kNodesAYield = 16;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (i % kNodesAYield == 0) one_.yield();
      const Node& node = graph_.nodes[i];
      if (auto why = step(node); !why.empty()) return fmt::format("{} {}", place_of(node), why);
    }
    for (const ValueId id : graph_.outputs) {
      if (!fact(id).batched) {
        return fmt::format("output '{}' does not have a row for each row of the inputs",
                           graph_.name_of(id));
      }
    }
    return {};
  }

  core::Result<Tensor> zeros_of(const TensorType& type) {
    auto made = zeros_.of(type);
    if (made) return *std::move(made);
    return core::fail(core::ErrorCode::kResourceExhausted, "{} is not judged", type.text());
  }

  Fact& fact(ValueId id) { return facts_[static_cast<std::size_t>(id)]; }

  std::string declare_input(ValueId id, const TensorType& type) {
    if (type.shape.rank() == 0) {
      return fmt::format("input '{}' is a scalar and has no rows", graph_.name_of(id));
    }
    fact(id).batched = true;
    for (std::size_t t = 0; t < kRows.size(); ++t) {
      std::vector<std::int64_t> dims(type.shape.dims().begin(), type.shape.dims().end());
      dims[0] = kRows[t];
      const auto shape = Shape::of(dims);
      if (!shape) return fmt::format("input '{}': {}", graph_.name_of(id), shape.error().message);
      auto made = zeros_of({type.dtype, *shape});
      if (!made) return fmt::format("input '{}': {}", graph_.name_of(id), made.error().message);
      fact(id).values[t] = *std::move(made);
    }
    return {};
  }

  std::string step(const Node& node) {
    if (!node.op->domain.empty() || node.op->judge->run == nullptr) {
      return "may mix the rows of a batch";
    }
    bool batched = false, depends = false;
    for (const ValueId id : node.inputs) {
      if (id == kAbsent) continue;
      if (fact(id).values[0].dtype() == tensor::DType::kString) return "takes strings";
      batched = batched || fact(id).batched;
      depends = depends || fact(id).depends_on_rows();
    }
    const bool is_shape = node.op->role == Role::kShape, is_size = node.op->role == Role::kSize;
    if (batched && !is_shape && !is_size) return batched_step(node);
    if (auto why = static_step(node, batched || depends); !why.empty()) return why;
    if (node.outputs[0] == kAbsent || (!batched && !depends)) return {};
    if (is_size && batched)
      fact(node.outputs[0]).marks = {Mark::kOther};
    else if (is_shape && batched)
      mark_shape(node);
    else
      mark_outputs(node);
    return {};
  }

  // The node's call in one trial; `arguments` keeps what it points to.
  Call call_of(const Node& node, std::size_t trial, std::vector<const Tensor*>& arguments) {
    arguments.clear();
    for (const ValueId id : node.inputs) {
      arguments.push_back(id == kAbsent ? nullptr : &fact(id).values[trial]);
    }
    Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = arguments;
    call.output_count = static_cast<int>(node.outputs.size());
    call.pulse = kernels::Pulse(&one_);
    return call;
  }

  std::string charge(std::int64_t ops) {
    ops_left_ -= std::min(ops, kOpsMax);
    return ops_left_ <= 0 ? "is too large a constant to be judged" : std::string();
  }

  // Computes what no input's elements decide.
  std::string static_step(const Node& node, bool differs) {
    for (std::size_t t = 0; t < kRows.size(); ++t) {
      std::vector<const Tensor*> arguments;
      Call call = call_of(node, t, arguments);
      if (auto why = charge(ops_of_inference(*node.op, call)); !why.empty()) return why;
      auto types = node.op->judge->infer(call);
      if (!types) return types.error().message;
      call.outputs = *std::move(types);
      for (const TensorType& type : call.outputs) {
        if (type.dtype == tensor::DType::kUndefined) return "has a shape that data decide";
        if (type.dtype == tensor::DType::kString) return "makes strings";
      }
      if (auto why = charge(work_of(*node.op, call).ops); !why.empty()) return why;
      auto allocated = kernels::allocate_outputs(call, arena_);
      if (!allocated) return allocated.error().message;
      std::vector<Tensor>& outputs = *allocated;
      kernels::Workspace workspace{arena_, one_};
      const auto done = node.op->judge->run(call, outputs, workspace);
      if (!done) return done.error().message;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        if (node.outputs[o] == kAbsent) continue;
        if (!differs) fact(node.outputs[o]).values.fill(outputs[o]);
        fact(node.outputs[o]).values[t] = std::move(outputs[o]);
      }
      if (!differs) break;
    }
    return {};
  }

  // What Shape says of a batched value: its first element is the number of rows.
  void mark_shape(const Node& node) {
    const Fact& of = fact(node.inputs[0]);
    Fact& made = fact(node.outputs[0]);
    const int rank = of.values[0].shape().rank();
    std::int64_t start = node.attributes.integer("start", 0).value_or(0);
    if (start < 0) start = std::max<std::int64_t>(start + rank, 0);
    const std::int64_t count = made.values[0].elements();
    if (start == 0 && count > 0) {
      made.marks.assign(static_cast<std::size_t>(count), Mark::kNone);
      made.marks[0] = Mark::kIsRows;
    }
  }

  // Marks go where the elements go. That needs an operator whose output's shape does not hang on
  // the marked elements; all others make everything wild.
  void mark_outputs(const Node& node) {
    const RowCounts counts = node.op->batching.counts;
    const bool moves = counts == RowCounts::kFirst || counts == RowCounts::kEvery;
    bool follows = counts != RowCounts::kLost;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kAbsent) continue;
      const Fact& of = fact(node.inputs[i]);
      const bool may_be_marked = i == 0 || counts != RowCounts::kFirst;
      if (of.wild || (!of.marks.empty() && !may_be_marked)) follows = false;
    }
    Fact& made = fact(node.outputs[0]);
    for (const Tensor& value : made.values) {
      follows = follows && value.type() == made.values[0].type() &&
                value.elements() <= kMarkedElementsMax;
    }
    if (!follows || node.outputs.size() != 1) {
      for (const ValueId id : node.outputs) {
        if (id != kAbsent) fact(id).wild = true;
      }
      return;
    }
    std::vector<const Tensor*> arguments;
    Call call = call_of(node, 0, arguments);
    call.outputs = {made.values[0].type()};
    std::vector<Mark> marks;
    for (std::int64_t e = 0; e < made.values[0].elements(); ++e) {
      const Mark read = mark_of(node, call, e);
      marks.push_back(read == Mark::kNone || moves ? read : Mark::kOther);
    }
    const bool any = std::ranges::any_of(marks, [](Mark mark) { return mark != Mark::kNone; });
    if (any) made.marks = std::move(marks);
  }

  // The worst mark among the elements that output element `e` reads.
  Mark mark_of(const Node& node, const Call& call, std::int64_t e) {
    std::vector<kernels::ElementRef> reads;
    node.op->judge->reads(call, 0, e, reads);
    call.pulse(reads.size());
    Mark worst = Mark::kNone;
    for (const kernels::ElementRef& read : reads) {
      const auto& marks = fact(node.inputs[static_cast<std::size_t>(read.input)]).marks;
      if (!marks.empty()) worst = std::max(worst, marks[static_cast<std::size_t>(read.index)]);
    }
    return worst;
  }

  std::string batched_step(const Node& node) {
    const kernels::batching::Rule rule = node.op->batching.rule;
    if (rule == nullptr) return "may mix the rows of a batch";
    const bool reshapes = node.op->role == Role::kReshape;
    for (std::size_t t = 0; t < kRows.size(); ++t) {
      std::vector<const Tensor*> arguments;
      Call call = call_of(node, t, arguments);
      kernels::batching::Trial trial{call, {}, {}, {}, kRows[t]};
      for (const ValueId id : node.outputs) trial.is_asked.push_back(id != kAbsent);
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        trial.batched.push_back(id != kAbsent && fact(id).batched);
        if (trial.batched.back()) call.unknown.bits |= kernels::Places::bit(i);
        if (id == kAbsent || !fact(id).depends_on_rows()) continue;
        const auto& marks = fact(id).marks;
        const bool fine = reshapes && i == 1 && !marks.empty() &&
                          std::ranges::find(marks, Mark::kOther) == marks.end();
        if (!fine) {
          return fmt::format("takes '{}', which depends on the number of rows", graph_.name_of(id));
        }
        for (const Mark mark : marks) trial.is_rows.push_back(mark == Mark::kIsRows);
      }
      auto types = node.op->judge->infer(call);
      if (!types) return fmt::format("refuses {} rows: {}", kRows[t], types.error().message);
      call.outputs = *std::move(types);
      if (auto why = rule(trial); !why.empty()) return why;
      if (auto why = take_outputs(node, call, t); !why.empty()) return why;
    }
    return {};
  }

  std::string take_outputs(const Node& node, const Call& call, std::size_t trial) {
    for (std::size_t o = 0; o < call.outputs.size(); ++o) {
      if (node.outputs[o] == kAbsent) continue;
      const TensorType& type = call.outputs[o];
      if (type.dtype == tensor::DType::kUndefined) return "has a shape that data decide";
      if (type.shape.rank() == 0 || type.shape[0] != kRows[trial]) {
        return fmt::format("gives {} for {} rows", type.text(), kRows[trial]);
      }
      for (int axis = 1; trial > 0 && axis < type.shape.rank(); ++axis) {
        if (type.shape[axis] != fact(node.outputs[o]).values[0].shape()[axis]) {
          return fmt::format("gives {} for {} rows", type.text(), kRows[trial]);
        }
      }
      auto made = zeros_of(type);
      if (!made) return made.error().message;
      fact(node.outputs[o]).batched = true;
      fact(node.outputs[o]).values[trial] = *std::move(made);
    }
    return {};
  }

  const Graph& graph_;
  std::vector<Fact> facts_;
  tensor::ZeroStandIns zeros_{limits::kMemoryBytesDefault};
  std::int64_t ops_left_ = kOpsMax;
  tensor::Arena arena_{limits::kMemoryBytesDefault};
  kernels::ThreadPool one_{1};
};

}  // namespace

namespace {

std::optional<std::string> objection(const Graph& graph, std::span<const TensorType> request,
                                     core::Pacer* host) {
  if (graph.inputs.empty()) return "the model has no inputs";
  if (request.size() != graph.inputs.size()) {
    return fmt::format("{} inputs, expected {}", request.size(), graph.inputs.size());
  }
  return Analysis(graph).objection(request, host);
}

}  // namespace

std::string batching_objection(const Graph& graph, std::span<const TensorType> request) {
  return *objection(graph, request, nullptr);
}

std::optional<std::string> batching_objection(const Graph& graph,
                                              std::span<const TensorType> request,
                                              core::Pacer& host) {
  return objection(graph, request, &host);
}

std::string batching_objection(const Graph& graph) {
  std::vector<TensorType> request;
  for (const ValueId id : graph.inputs) {
    const ValueInfo& value = graph.values[static_cast<std::size_t>(id)];
    const Declared& declared = value.declared;
    const auto object = [&value](std::string_view why) {
      return fmt::format("input '{}' is {}: {}", value.name, value.declared.text(), why);
    };
    if (!declared.containers.empty()) return object("it is no tensor");
    if (!declared.ranked || declared.dims.empty()) return object("it has no rows");
    if (declared.dims[0] >= 0) return object("the number of rows is fixed");
    std::vector<std::int64_t> dims = declared.dims;
    dims[0] = 1;
    if (std::ranges::any_of(dims, [](std::int64_t dim) { return dim < 0; })) {
      return object("more than the number of rows is free, so each shape is to be judged alone");
    }
    const auto shape = Shape::of(dims);
    if (!shape) return object(shape.error().message);
    request.push_back({declared.dtype, *shape});
  }
  return batching_objection(graph, request);
}

}  // namespace commensal::graph
