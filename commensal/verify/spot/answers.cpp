// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/trace.hpp>
#include <commensal/verify/spot/answers.hpp>
#include <commensal/verify/spot/freivalds.hpp>
#include <commensal/verify/spot/multiproof.hpp>
#include <commensal/verify/spot/parts.hpp>
#include <commensal/verify/spot/sheet.hpp>
#include <cstring>

namespace commensal::spot {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using kernels::Call;
using tensor::Tensor;
using tensor::TensorType;

constexpr std::size_t kLeafBytes = crypto::kMerkleLeafBytes;
constexpr std::int64_t kOutputBytesMax = std::int64_t{4} << 30;

Result<TensorType> type_of(const arbiter::Shaped& shaped) {
  TensorType made;
  COMMENSAL_ASSIGN(made.dtype, tensor::dtype_from_onnx(shaped.dtype));
  const std::vector<std::int64_t> dims(shaped.dims.begin(), shaped.dims.end());
  COMMENSAL_ASSIGN(made.shape, tensor::Shape::of(dims));
  return made;
}

/// What the elements of a leaf are by one small call of the ordinary kernel, where that gives them.
std::optional<Tensor> sliced(const kernels::Operator& op, const Call& call, std::int64_t first,
                             std::int64_t count) {
  std::vector<Tensor> slices;
  std::vector<const Tensor*> inputs;
  slices.reserve(call.inputs.size());
  for (const Tensor* input : call.inputs) {
    if (input == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    const bool is_one = input->elements() == 1;
    const TensorType type{input->dtype(), tensor::Shape{is_one ? 1 : count}};
    const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
    const std::size_t begin = is_one ? 0 : static_cast<std::size_t>(first) * size;
    inputs.push_back(&slices.emplace_back(Tensor::view_of(
        type, input->bytes().subspan(begin, static_cast<std::size_t>(type.bytes())),
        input->owner())));
  }
  Call part = call;
  part.inputs = inputs;
  auto types = op.infer(part);
  if (!types || types->front().shape != tensor::Shape{count}) return std::nullopt;
  part.outputs = *std::move(types);
  tensor::Arena arena(kOutputBytesMax);
  kernels::ThreadPool one(1);
  kernels::Workspace workspace{arena, one};
  auto outputs = kernels::allocate_outputs(part, arena);
  if (!outputs || !op.ref(part, *outputs, workspace)) return std::nullopt;
  return outputs->front();
}

}  // namespace

Result<void> Answers::fill(const Tensor& into, const TensorFacts& facts, const LeafSet& leaves,
                           const Openings& openings, std::size_t& next) {
  if (next >= openings.parts.size()) {
    return fail(ErrorCode::kInvalidArgument, "openings: {} parts, more are needed",
                openings.parts.size());
  }
  const Part& part = openings.parts[next];
  const std::uint64_t count = arbiter::leaf_count(facts.type);
  std::size_t expected = leaves.size() * kLeafBytes;
  if (!leaves.empty() && leaves.back() == count - 1) {
    expected -= count * kLeafBytes - into.bytes().size();
  }
  const std::size_t siblings = siblings_of(count, leaves);
  if (part.leaves.size() != expected || part.siblings.size() != siblings) {
    return fail(ErrorCode::kInvalidArgument,
                "openings: part {} has {} bytes and {} siblings, expected {} and {}", next,
                part.leaves.size(), part.siblings.size(), expected, siblings);
  }
  std::vector<Digest> hashes(leaves.size());
  crypto::leaf_hashes(part.leaves, hashes);
  if (root_of_leaves(count, leaves, hashes, part.siblings) != facts.bytes_root) {
    return fail(ErrorCode::kDataLoss, "openings: part {} does not lead to its root", next);
  }
  if (const auto valid = tensor::check_elements(into.dtype(), part.leaves); !valid) {
    return core::in_context(fmt::format("openings: part {}", next), valid.error());
  }
  const auto room = Scratch::writable(into);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto leaf = part.leaves.subspan(
        i * kLeafBytes, std::min(kLeafBytes, part.leaves.size() - i * kLeafBytes));
    std::memcpy(room.data() + leaves[i] * kLeafBytes, leaf.data(), leaf.size());
  }
  ++next;
  return {};
}

Result<std::optional<Finding>> Answers::check(const Question& question, const Openings& openings,
                                              std::size_t& next) {
  const graph::Node& node = model_.graph->nodes[question.node];
  std::vector<Tensor> tensors(node.inputs.size());
  std::vector<const Tensor*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    const auto held = model_.graph->initialisers.find(id);
    if (terms_.holds_weights && held != model_.graph->initialisers.end()) {
      tensors[i] = held->second;
    } else if (id != graph::kAbsent) {
      COMMENSAL_ASSIGN(const TensorType type, type_of(facts_.at(id).type));
      COMMENSAL_ASSIGN(tensors[i], scratch_.tensor(i, type));
    }
    inputs.push_back(id == graph::kAbsent ? nullptr : &tensors[i]);
  }
  Call call{node.opset, &node.attributes, inputs, static_cast<int>(node.outputs.size()), {},
            nullptr};
  for (const TensorFacts& facts : list_[question.node].outputs) {
    COMMENSAL_ASSIGN(call.outputs.emplace_back(), type_of(facts.type));
  }
  std::optional<std::vector<LeafSet>> leaves;
  bool is_typed = true;
  const auto settle = [&] {  // what steers is there
    const auto types = node.op->infer(call);
    is_typed = types && *types == call.outputs;
    if (is_typed) leaves = input_leaves(question, *node.op, call);
  };
  for (const std::size_t i : opening_order(*model_.graph, node, terms_)) {
    const bool is_steering = steers(*node.op, static_cast<int>(i));
    if (!is_steering && !leaves) settle();
    if (!is_typed) return Finding{Fault::kType, question.node, 0, 0, 0, 0};
    COMMENSAL_TRY(fill(tensors[i], facts_.at(node.inputs[i]),
                       is_steering ? all_leaves(tensors[i].type()) : (*leaves)[i], openings, next));
  }
  if (!leaves) settle();
  if (!is_typed) return Finding{Fault::kType, question.node, 0, 0, 0, 0};
  if (question.method == Method::kWhole) return run_whole(question, call);
  const TensorType& type = call.outputs[question.output];
  COMMENSAL_ASSIGN(const Tensor output, scratch_.tensor(node.inputs.size(), type));
  COMMENSAL_TRY(fill(output, list_[question.node].outputs[question.output],
                     output_leaves(question, type), openings, next));
  if (question.method != Method::kVector) return compare(question, call, output);
  if (!residual_of(*node.op, call, output, question.seed).is_suspect()) return std::nullopt;
  return run_whole(question, call);
}

Result<std::optional<Finding>> Answers::compare(const Question& question, const Call& call,
                                                const Tensor& output) {
  const kernels::Operator& op = *model_.graph->nodes[question.node].op;
  const auto elements = elements_asked(question, op, call);
  std::optional<Tensor> slice;
  if (question.method == Method::kLeaf && is_sliceable(op, call, question.output)) {
    slice = sliced(op, call, elements.front(), static_cast<std::int64_t>(elements.size()));
  }
  for (const std::int64_t element : elements) {
    const std::uint64_t claimed = element_bits(output, element);
    if (slice && element_bits(*slice, element - elements.front()) == claimed) continue;
    const std::uint64_t computed =
        op.element(call, static_cast<int>(question.output), element).bits;
    if (computed == claimed) continue;
    return Finding{Fault::kElement, question.node, question.output, element, claimed, computed};
  }
  return std::nullopt;
}

Result<std::optional<Finding>> Answers::run_whole(const Question& question, const Call& call) {
  const kernels::Operator& op = *model_.graph->nodes[question.node].op;
  tensor::Arena arena(kOutputBytesMax);
  kernels::ThreadPool one(1);
  kernels::Workspace workspace{arena, one};
  const auto isas = kernels::available_isas();
  const bool is_fast = op.cpu != nullptr && !isas.empty();
  if (is_fast) workspace.isa = isas.back();
  COMMENSAL_ASSIGN(auto outputs, kernels::allocate_outputs(call, arena));
  COMMENSAL_TRY((is_fast ? op.cpu : op.ref)(call, outputs, workspace));
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    const Digest root = crypto::merkle_root(dispute::leaf_hashes(outputs[o].bytes(), one));
    if (root == list_[question.node].outputs[o].bytes_root) continue;
    return Finding{Fault::kWhole, question.node, o, 0, 0, 0};
  }
  return std::nullopt;
}

}  // namespace commensal::spot
