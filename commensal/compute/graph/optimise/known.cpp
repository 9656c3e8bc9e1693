// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_graphs.hpp>
#include <commensal/compute/graph/optimise/known.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <cstdlib>

namespace commensal::graph::optimise {

using kernels::Call;
using kernels::Kind;
using tensor::Tensor;
using tensor::TensorType;

namespace {

/// An operator whose output types depend on the elements of some inputs (a bit each). Those that
/// are neither here nor elementwise or a product are not inferred at all.
struct Reader {
  std::string_view name;
  std::uint32_t inputs;
};
constexpr std::uint32_t kNone = 0, kSecond = 0b10, kAfterFirst = ~1u, kAll = ~0u;
constexpr Reader kReaders[] = {
    {"ArgMax", kNone},
    {"ArgMin", kNone},
    {"AveragePool", kNone},
    {"BatchNormalization", kNone},
    {"Concat", kNone},
    {"ConstantOfShape", kAll},
    {"DepthToSpace", kNone},
    {"Dropout", kAfterFirst},
    {"Expand", kSecond},
    {"Flatten", kNone},
    {"Gather", kNone},
    {"GatherElements", kNone},
    {"GlobalAveragePool", kNone},
    {"GlobalMaxPool", kNone},
    {"Identity", kNone},
    {"InstanceNormalization", kNone},
    {"LayerNormalization", kNone},
    {"LogSoftmax", kNone},
    {"MaxPool", kNone},
    {"Pad", kAfterFirst},
    {"Range", kAll},
    {"ReduceL1", kSecond},
    {"ReduceL2", kSecond},
    {"ReduceMax", kSecond},
    {"ReduceMean", kSecond},
    {"ReduceMin", kSecond},
    {"ReduceProd", kSecond},
    {"ReduceSum", kSecond},
    {"ReduceSumSquare", kSecond},
    {"Reshape", kSecond},
    {"ScatterElements", kNone},
    {"ScatterND", kNone},
    {"Shape", kNone},
    {"Size", kNone},
    {"Slice", kAfterFirst},
    {"Softmax", kNone},
    {"SpaceToDepth", kNone},
    {"Split", kSecond},
    {"Squeeze", kSecond},
    {"Tile", kSecond},
    {"Transpose", kNone},
    {"Unsqueeze", kSecond},
};
std::optional<std::uint32_t> inputs_read(const kernels::Operator& op) {
  if (op.infer == nullptr || !op.domain.empty()) return std::nullopt;
  const auto found = std::ranges::find(kReaders, op.name, &Reader::name);
  if (found != std::end(kReaders)) return found->inputs;
  const bool computes = op.kind == Kind::kElementwise || op.kind == Kind::kDotProduct;
  return computes ? std::optional(kNone) : std::nullopt;
}

/// "Shape" and "Size" ask for the type only.
bool depends_on_type_only(const kernels::Operator& op) {
  return op.name == "Shape" || op.name == "Size";
}

/// A stand-in for elements that are not known: inference may check them (an index is in range), but
/// no type depends on them. Pages that nobody reads cost nothing.
std::optional<Tensor> zeros(const TensorType& type) {
  const auto bytes = static_cast<std::size_t>(type.bytes());
  const std::shared_ptr<void> block(std::calloc(std::max<std::size_t>(bytes, 1), 1), std::free);
  if (block == nullptr) return std::nullopt;
  return Tensor::view_of(type, {static_cast<const std::uint8_t*>(block.get()), bytes}, block);
}

class Inference {
 public:
  Inference(const Graph& graph, std::span<const TensorType> inputs) : graph_(graph) {
    known_.types.resize(graph.values.size());
    known_.constants = graph.initialisers;
    for (const auto& [id, value] : graph.initialisers) type(id) = value.type();
    for (std::size_t i = 0; i < inputs.size(); ++i) type(graph.inputs[i]) = inputs[i];
  }

  std::optional<Known> run() {
    for (const Node& node : graph_.nodes) {
      if (!infer(node)) return std::nullopt;
    }
    return std::move(known_);
  }

 private:
  std::optional<TensorType>& type(ValueId id) { return known_.types[static_cast<std::size_t>(id)]; }

  /// False if the node refuses its inputs.
  bool infer(const Node& node) {
    const auto read = inputs_read(*node.op);
    if (!read) return true;
    std::vector<Tensor> typed(node.inputs.size());
    std::vector<const Tensor*> inputs(node.inputs.size());
    bool all_known = true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id == kAbsent) {
        const bool variadic = node.op->inputs_max == limits::kNodeInputsMax;
        if (variadic || static_cast<int>(i) < node.op->inputs_min) return false;
        continue;
      }
      const auto constant = known_.constants.find(id);
      if (constant != known_.constants.end()) {
        inputs[i] = &constant->second;
        continue;
      }
      const bool is_read = i < 32 && (*read >> i & 1) != 0;
      if (!type(id) || is_read) return true;
      if (type(id)->dtype == tensor::DType::kString) return true;
      all_known = all_known && depends_on_type_only(*node.op);
      auto stand_in = zeros(*type(id));
      if (!stand_in) return false;
      typed[i] = *std::move(stand_in);
      inputs[i] = &typed[i];
    }
    return infer(node, inputs, all_known);
  }

  bool infer(const Node& node, std::span<const Tensor* const> inputs, bool all_known) {
    for (const Tensor* input : inputs) {
      if (input != nullptr && input->dtype() == tensor::DType::kString) return true;
    }
    Call call;
    call.opset = node.opset;
    call.attributes = &node.attributes;
    call.inputs = inputs;
    call.output_count = static_cast<int>(node.outputs.size());
    auto types = node.op->infer(call);
    if (!types) return false;
    call.outputs = *std::move(types);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorType& made = call.outputs[i];
      if (tensor::traits(made.dtype).size == 0) return true;  // only a run can tell
      all_known = all_known && made.bytes() <= limits::kFoldedBytesMax;
      if (node.outputs[i] != kAbsent) type(node.outputs[i]) = made;
    }
    return !all_known || fold(node, call);
  }

  bool fold(const Node& node, const Call& call) {
    auto outputs = kernels::allocate_outputs(call, arena_);
    if (!outputs) return false;
    kernels::Workspace workspace{arena_, threads_};
    if (!node.op->ref(call, *outputs, workspace)) return false;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] != kAbsent)
        known_.constants.insert_or_assign(node.outputs[i], (*outputs)[i]);
    }
    return true;
  }

  const Graph& graph_;
  Known known_;
  tensor::Arena arena_{limits::kMemoryBytesDefault};
  kernels::ThreadPool threads_{1};
};

}  // namespace

std::optional<Known> known_of(const Graph& graph, std::span<const TensorType> inputs) {
  return Inference(graph, inputs).run();
}

}  // namespace commensal::graph::optimise
