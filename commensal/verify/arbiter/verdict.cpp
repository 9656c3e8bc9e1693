// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/arbiter/verdict.hpp>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using core::fail;

template <class... Args>
tl::unexpected<core::Error> unproven(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kDataLoss, format, std::forward<Args>(args)...);
}

// Both proofs lead to their roots, at one place, and agree on all before it.
core::Result<void> check_pair(const LeafProof& a, const LeafProof& b, const Digest& root_a,
                              const Digest& root_b, std::uint64_t index, std::uint64_t count,
                              std::string_view what) {
  COMMENSAL_TRY(check_leaf(a, root_a, index, count, what));
  COMMENSAL_TRY(check_leaf(b, root_b, index, count, what));
  if (!agree_before(a, b)) return unproven("{}: the sides part before this place", what);
  if (a.leaf == b.leaf) return unproven("{}: the sides say the same here", what);
  return {};
}

core::Result<void> check_claims(const VerdictFile& file, const crypto::Address& accused) {
  COMMENSAL_TRY(protocol::verify_receipt(file.receipt));
  if (file.receipt.job.numerics_version != kNumericsOfPrograms) {
    return fail(ErrorCode::kUnsupported, "version {} of the numeric specification, expected {}",
                file.receipt.job.numerics_version, kNumericsOfPrograms);
  }
  const Digest receipt = protocol::receipt_id(file.receipt.body());
  for (std::size_t s = 0; s < kSides; ++s) {
    const TraceClaim& claim = file.words[s].claim;
    if (claim.receipt_id != receipt || at(claim.side) != s) {
      return unproven("trace claim {}: it is of another receipt or side", s);
    }
    COMMENSAL_TRY(verify_claim(claim));
    COMMENSAL_TRY(check_programs(claim));
  }
  const TraceClaim &a = file.words[0].claim, &b = file.words[1].claim;
  if (a.party != accused) return unproven("the claim is not the provider's");
  if (a.input_root != b.input_root) return unproven("the sides start from different inputs");
  if (has_fixed_input(file.receipt.job) &&
      protocol::commit_input(a.input_root, file.input_salt) != file.receipt.job.input_commitment) {
    return unproven("the inputs are not those that the job was made with");
  }
  return {};
}

core::Result<void> check_segment(const VerdictFile& file) {
  const TraceClaim &a = file.words[0].claim, &b = file.words[1].claim;
  const std::uint64_t nodes = file.facts.sizes.nodes;
  if (a.nodes != nodes || b.nodes != nodes || nodes == 0) return unproven("trace claim: its nodes");
  const std::uint64_t segment = file.words[0].checkpoint.index;
  COMMENSAL_TRY(check_pair(file.words[0].checkpoint, file.words[1].checkpoint, a.trace_root,
                           b.trace_root, segment, segment_count(nodes), "checkpoint"));
  for (const Word& word : file.words) {
    COMMENSAL_TRY(verify_claim(word.segment, word.claim.party));
    if (word.segment.claim_id != claim_id(word.claim) || word.segment.segment != segment) {
      return unproven("segment claim: it is of another segment");
    }
  }
  return {};
}

// What both sides say of the node.
struct Parting {
  KnownCall known;
  std::array<TraceLeaf, kSides> leaves;
  std::size_t output = 0;
};

core::Result<Parting> check_node_parting(const VerdictFile& file) {
  const LeafProof &a = file.words[0].trace, &b = file.words[1].trace;
  const std::uint64_t nodes = file.facts.sizes.nodes, segment = file.words[0].checkpoint.index;
  const std::uint64_t first = segment_first(nodes, segment);
  COMMENSAL_TRY(check_pair(a, b, file.words[0].segment.nodes_root, file.words[1].segment.nodes_root,
                           a.index, segment_first(nodes, segment + 1) - first, "trace"));
  if (!file.carried.empty()) return unproven("more is shown than the node");
  const std::uint64_t node = node_of(file);
  Parting made;
  COMMENSAL_ASSIGN(made.known,
                   check_facts(file.facts, node, ground_of(file, file.facts.sizes, node)));
  COMMENSAL_ASSIGN(made.leaves[0], decode_trace_leaf(a.leaf));
  COMMENSAL_ASSIGN(made.leaves[1], decode_trace_leaf(b.leaf));
  if (made.leaves[0].node != node || made.leaves[1].node != node) {
    return unproven("trace: a leaf of another node");
  }
  made.output = first_difference(made.leaves[0], made.leaves[1]);
  return made;
}

Finding finding_at(const VerdictFile& file, const Parting& parting) {
  Finding found;
  found.matter = file.matter;
  found.node = node_of(file);
  found.op = parting.known.call.node.name;
  found.output = static_cast<std::uint32_t>(parting.output);
  return found;
}

// The call with the outputs that both sides say alike before `output`.
NodeCall call_before(const Parting& parting) {
  NodeCall call = parting.known.call;
  for (std::size_t o = 0; o < parting.output; ++o) {
    call.outputs.push_back(parting.leaves[0].outputs[o].type);
  }
  return call;
}

core::Result<Finding> judge_type(const VerdictFile& file, const Parting& parting) {
  for (const Word& word : file.words) {
    if (word != Word{word.claim, word.checkpoint, word.segment, word.trace, {}, {}, {}} ||
        !file.operands.empty()) {
      return unproven("more is shown than the type");
    }
  }
  Finding found = finding_at(file, parting);
  const std::size_t expected = parting.known.call.node.outputs.size();
  const bool counts_fit =
      parting.leaves[0].outputs.size() == expected && parting.leaves[1].outputs.size() == expected;
  if (!counts_fit) {
    for (std::size_t s = 0; s < kSides; ++s) {
      found.wrong[s] = parting.leaves[s].outputs.size() != expected;
    }
    found.type = fmt::format("{} outputs", expected);
    return found;
  }
  COMMENSAL_ASSIGN(const auto type, output_type(call_before(parting), parting.output));
  if (!type) return fail(ErrorCode::kUnsupported, "{}: its type follows from data", found.op);
  for (std::size_t s = 0; s < kSides; ++s) {
    found.wrong[s] = parting.leaves[s].outputs[parting.output].type != *type;
  }
  found.type = type->text();
  if (!found.wrong[0] && !found.wrong[1]) return unproven("both sides give the right type");
  return found;
}

// All nodes of the segment are alike, yet the checkpoints behind it are not.
core::Result<Finding> judge_carried(const VerdictFile& file) {
  if (file.words[0].segment.nodes_root != file.words[1].segment.nodes_root) {
    return unproven("the sides part in a node already");
  }
  for (const Word& word : file.words) {
    if (word != Word{word.claim, word.checkpoint, word.segment, {}, {}, {}, {}} ||
        !file.operands.empty() || file.carried.size() != 1 || !file.facts.inputs.empty() ||
        !file.facts.lists.empty() || file.facts.node != LeafProof()) {
      return unproven("something else is shown than the value");
    }
  }
  std::array<CheckpointLeaf, kSides> leaves;
  for (std::size_t s = 0; s < kSides; ++s) {
    COMMENSAL_ASSIGN(leaves[s], decode_checkpoint(file.words[s].checkpoint.leaf));
  }
  const auto place = first_difference(leaves[0], leaves[1]);
  if (!place) return fail(ErrorCode::kUnsupported, "checkpoints of other values");
  Finding found;
  found.matter = Matter::kCarried;
  found.node = segment_first(file.facts.sizes.nodes, file.words[0].checkpoint.index + 1);
  found.value = leaves[0].live[*place].number;
  const TensorProof& proof = file.carried[0];
  COMMENSAL_TRY(check_tensor(proof, found.value, ground_of(file, file.facts.sizes, found.node)));
  found.type = proof.facts.type.text();
  for (std::size_t s = 0; s < kSides; ++s) {
    found.wrong[s] = leaves[s].live[*place].facts != proof.facts;
  }
  return found;
}

core::Result<std::uint64_t> check_element_parting(const VerdictFile& file, const Parting& parting) {
  const LeafProof &a = file.words[0].element, &b = file.words[1].element;
  const TensorFacts& facts_a = parting.leaves[0].outputs[parting.output];
  const TensorFacts& facts_b = parting.leaves[1].outputs[parting.output];
  if (facts_a.type != facts_b.type) return unproven("the sides part in the type already");
  const Shaped& type = facts_a.type;
  COMMENSAL_TRY(check_pair(a, b, facts_a.bytes_root, facts_b.bytes_root, a.index, leaf_count(type),
                           "element"));
  const std::uint64_t size = element_bytes(type.dtype);
  const std::uint64_t all = static_cast<std::uint64_t>(type.elements()) * size;
  for (const LeafProof* proof : {&a, &b}) {
    if (proof->leaf.size() != leaf_bytes(all, a.index)) return unproven("element: a leaf's length");
  }
  const auto element = first_difference(a.leaf, b.leaf, size, a.index);
  if (!element) return unproven("element: the sides say the same here");
  return *element;
}

core::Result<std::uint64_t> check_step_parting(const VerdictFile& file, const Finding& found) {
  for (std::size_t s = 0; s < kSides; ++s) {
    const ElementClaim& claim = file.words[s].element_claim;
    COMMENSAL_TRY(verify_claim(claim, file.words[s].claim.party));
    if (claim.claim_id != claim_id(file.words[s].claim) || claim.node != found.node ||
        claim.output != found.output || claim.element != found.element ||
        claim.steps != found.steps) {
      return unproven("element claim {}: it is of another element", s);
    }
  }
  const LeafProof &a = file.words[0].steps, &b = file.words[1].steps;
  COMMENSAL_TRY(check_pair(a, b, file.words[0].element_claim.steps_root,
                           file.words[1].element_claim.steps_root, a.index,
                           step_leaves(found.steps), "steps"));
  for (const LeafProof* proof : {&a, &b}) {
    if (proof->leaf.size() != leaf_bytes(found.steps * kStepBytes, a.index)) {
      return unproven("steps: a leaf's length");
    }
  }
  const auto step = first_difference(a.leaf, b.leaf, kStepBytes, a.index);
  if (!step) return unproven("steps: the sides say the same here");
  return *step;
}

// Of step `number` before the disputed one, under the root of either side (they say the same
// there).
core::Result<std::uint64_t> check_step(const VerdictFile& file, const Finding& found,
                                       std::uint64_t number, const LeafProof& proof) {
  const std::uint64_t leaf = number * kStepBytes / crypto::kMerkleLeafBytes;
  COMMENSAL_ASSIGN(const Digest root, root_of(proof));
  const bool fits = number < found.step && proof.index == leaf &&
                    proof.count == step_leaves(found.steps) &&
                    proof.leaf.size() == leaf_bytes(found.steps * kStepBytes, leaf) &&
                    (root == file.words[0].element_claim.steps_root ||
                     root == file.words[1].element_claim.steps_root);
  if (!fits) return unproven("operand: it is no step {} of this element", number);
  return step_value(proof.leaf, number);
}

core::Result<std::uint64_t> check_tensor_element(const TensorFacts& facts, std::uint64_t index,
                                                 const LeafProof& proof) {
  const auto elements = static_cast<std::uint64_t>(facts.type.elements());
  if (!facts.type.is_there() || index >= elements) {
    return unproven("operand: {} has no element {}", facts.type.text(), index);
  }
  const std::uint64_t leaf = leaf_of(facts.type.dtype, index);
  COMMENSAL_TRY(check_leaf(proof, facts.bytes_root, leaf, leaf_count(facts.type), "operand"));
  const std::uint64_t all = elements * element_bytes(facts.type.dtype);
  if (proof.leaf.size() != leaf_bytes(all, leaf)) return unproven("operand: a leaf's length");
  return element_in(proof.leaf, facts.type.dtype, index);
}

// Of an own output before the disputed element: both sides say the same there, so either's root
// will do.
core::Result<std::uint64_t> check_own_element(const Parting& parting, const Finding& found,
                                              const Operand& operand, const LeafProof& proof) {
  const auto output = static_cast<std::size_t>(operand.input);
  if (output > parting.output || (output == parting.output && operand.value >= found.element)) {
    return unproven("operand: element {} of output {} is not agreed on", operand.value, output);
  }
  const auto first = check_tensor_element(parting.leaves[0].outputs[output], operand.value, proof);
  return first ? first
               : check_tensor_element(parting.leaves[1].outputs[output], operand.value, proof);
}

// The value of an operand, by the next of the file's proofs: none for a constant, two where a step
// says which element it is.
core::Result<std::uint64_t> check_operand(const VerdictFile& file, const Parting& parting,
                                          const Finding& found, const Operand& operand,
                                          std::size_t& next) {
  const bool is_own = operand.kind == Operand::Kind::kOwn;
  const std::size_t proofs =
      (operand.is_of_step() ? 1 : 0) + (operand.is_of_input() || is_own ? 1 : 0);
  if (file.operands.size() - next < proofs) return unproven("proof {} is missing", next);
  if (is_own) return check_own_element(parting, found, operand, file.operands[next++]);
  std::uint64_t value = operand.value;
  if (operand.is_of_step()) {
    COMMENSAL_ASSIGN(value, check_step(file, found, operand.value, file.operands[next++]));
  }
  if (!operand.is_of_input()) return value;
  const TensorFacts& facts = parting.known.inputs[static_cast<std::size_t>(operand.input)];
  return check_tensor_element(facts, value, file.operands[next++]);
}

core::Result<Finding> judge_operation(const VerdictFile& file, const Parting& parting) {
  Finding found = finding_at(file, parting);
  for (const TraceLeaf& leaf : parting.leaves) {
    if (leaf.outputs.size() <= parting.output)
      return unproven("the sides part in the type already");
  }
  COMMENSAL_ASSIGN(found.element, check_element_parting(file, parting));
  NodeCall call = call_before(parting);
  call.outputs.push_back(parting.leaves[0].outputs[parting.output].type);
  found.type = call.outputs.back().text();
  COMMENSAL_ASSIGN(const Program program, Program::of(call, parting.output, found.element));
  found.steps = program.steps();
  COMMENSAL_ASSIGN(found.step, check_step_parting(file, found));
  const Step step = program.at(found.step);
  found.operation = step.op;
  std::size_t next = 0;
  for (int i = 0; i < scalar::operation(step.op).operands; ++i) {
    const Operand& operand = step.operands[static_cast<std::size_t>(i)];
    COMMENSAL_ASSIGN(const std::uint64_t value, check_operand(file, parting, found, operand, next));
    found.operands.push_back(value);
  }
  if (next != file.operands.size()) return unproven("an operand too many");
  found.result = scalar::evaluate(step.op, found.operands);
  for (std::size_t s = 0; s < kSides; ++s) {
    found.claimed[s] = step_value(file.words[s].steps.leaf, found.step);
    found.wrong[s] = found.claimed[s] != found.result;
  }
  return found;
}

}  // namespace

core::Result<void> check_programs(const TraceClaim& claim) {
  if (claim.programs == kProgramsVersion) return {};
  return fail(ErrorCode::kUnsupported,
              "trace claim: it follows version {} of the arbiter's programs, expected {}",
              claim.programs, kProgramsVersion);
}

core::Result<Finding> judge(const VerdictFile& file) {
  return judge(file, file.receipt.job.provider);
}

core::Result<Finding> judge(const VerdictFile& file, const crypto::Address& accused) {
  COMMENSAL_TRY(check_claims(file, accused));
  COMMENSAL_TRY(check_segment(file));
  if (file.matter == Matter::kCarried) return judge_carried(file);
  COMMENSAL_ASSIGN(const Parting parting, check_node_parting(file));
  return file.matter == Matter::kType ? judge_type(file, parting) : judge_operation(file, parting);
}

std::string text_of(const Finding& found) {
  const char* who = found.wrong[0] && found.wrong[1] ? "both sides were"
                    : found.wrong[0]                 ? "the provider was"
                                                     : "the challenger was";
  if (found.matter == Matter::kCarried) {
    return fmt::format("{} wrong: the checkpoint before node {}, value {}: it is another {}", who,
                       found.node, found.value, found.type);
  }
  const std::string where =
      fmt::format("{} wrong: node {} ({}), output {}", who, found.node, found.op, found.output);
  if (found.matter == Matter::kType) return fmt::format("{}: it must be {}", where, found.type);
  return fmt::format(
      "{} {}, element {}, step {} of {}: {}({:x}) is {:x}; the provider says {:x}, the challenger "
      "{:x}",
      where, found.type, found.element, found.step, found.steps,
      scalar::operation(found.operation).name, fmt::join(found.operands, ", "), found.result,
      found.claimed[0], found.claimed[1]);
}

}  // namespace commensal::arbiter
