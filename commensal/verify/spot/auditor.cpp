// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/arbiter/evidence.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/spot/answers.hpp>
#include <cstdlib>

namespace commensal::spot {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

Result<void> fits(const graph::Graph& graph, const Roots& roots) {
  if (roots.inputs.size() != graph.inputs.size() || roots.list.size() != graph.nodes.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "operator roots: {} inputs and {} nodes, expected {} and {}", roots.inputs.size(),
                roots.list.size(), graph.inputs.size(), graph.nodes.size());
  }
  for (std::size_t n = 0; n < roots.list.size(); ++n) {
    const arbiter::TraceLeaf& leaf = roots.list[n];
    if (leaf.node == n && leaf.outputs.size() == graph.nodes[n].outputs.size()) continue;
    return fail(ErrorCode::kInvalidArgument, "operator roots: node {} with {} outputs at place {}",
                leaf.node, leaf.outputs.size(), n);
  }
  return {};
}

}  // namespace

std::span<const std::string_view> enum_names(Fault) {
  static constexpr std::string_view kNames[] = {"output", "type", "element", "operator"};
  return kNames;
}
std::span<const std::string_view> enum_names(Audit::Phase) {
  static constexpr std::string_view kNames[] = {"asked", "rooted", "drawn", "done", "silent"};
  return kNames;
}

Result<tensor::Tensor> Scratch::tensor(std::size_t slot, const tensor::TensorType& type) {
  if (blocks_.size() <= slot) blocks_.resize(slot + 1);
  Block& block = blocks_[slot];
  const auto size = static_cast<std::size_t>(type.bytes());
  if (block.size < size || block.bytes == nullptr) {
    block.size = std::max<std::size_t>(size, 1);
    block.bytes.reset(static_cast<std::uint8_t*>(std::calloc(block.size, 1)), std::free);
  }
  if (block.bytes == nullptr) {
    return fail(ErrorCode::kResourceExhausted, "no memory for {}", type.text());
  }
  return tensor::Tensor::view_of(type, {block.bytes.get(), size}, block.bytes);
}

std::span<std::uint8_t> Scratch::writable(const tensor::Tensor& tensor) {
  return {const_cast<std::uint8_t*>(tensor.bytes().data()), tensor.bytes().size()};
}

Audit::Audit(AuditSetup setup, const core::Clock& clock, Scratch& scratch)
    : setup_(std::move(setup)), clock_(&clock), scratch_(&scratch) {
  go_to(Phase::kAsked);
}

void Audit::go_to(Phase phase) {
  phase_ = phase;
  deadline_ns_ = clock_->monotonic_ns() + setup_.wait_ms_max * 1'000'000;
}

Result<Audit> Audit::open(AuditSetup setup, const core::Clock& clock, Scratch& scratch) {
  COMMENSAL_TRY(check(setup.terms));
  const receipt::ModelRoots& roots = setup.model->roots;
  if (roots.graph != setup.job.graph_root || roots.weights != setup.job.weight_root) {
    return fail(ErrorCode::kFailedPrecondition, "audit: the model is not the job's");
  }
  if (setup.body.job_id != protocol::job_id(setup.job)) {
    return fail(ErrorCode::kFailedPrecondition, "audit: the receipt is not the job's");
  }
  if (setup.survey->nodes.size() != setup.model->graph->nodes.size()) {
    return fail(ErrorCode::kFailedPrecondition, "audit: the survey is of another model");
  }
  return Audit(std::move(setup), clock, scratch);
}

Bytes Audit::request() const {
  return encode(Request{protocol::receipt_id(setup_.body), setup_.round, setup_.terms});
}

Result<void> Audit::expect(Phase phase, std::string_view move) const {
  if (phase_ == phase) return {};
  return fail(ErrorCode::kFailedPrecondition, "audit: {} when it is {}, expected {}", move,
              protocol::name_of(phase_), protocol::name_of(phase));
}

Result<void> Audit::roots(ByteView message, std::uint64_t latest_round) {
  COMMENSAL_TRY(expect(Phase::kAsked, "operator roots"));
  COMMENSAL_ASSIGN(Roots roots, decode_roots(message));
  if (roots.receipt_id != protocol::receipt_id(setup_.body) || roots.round != setup_.round) {
    return fail(ErrorCode::kInvalidArgument, "operator roots: of another receipt or round");
  }
  if (latest_round >= setup_.round) {
    return fail(ErrorCode::kFailedPrecondition,
                "operator roots: round {} that draws is over already", setup_.round);
  }
  const graph::Graph& graph = *setup_.model->graph;
  COMMENSAL_TRY(fits(graph, roots));
  const Digest root = input_root(graph, roots.inputs);
  const bool is_given = setup_.input_root ? root == *setup_.input_root
                                          : protocol::commit_input(root, setup_.input_salt) ==
                                                setup_.job.input_commitment;
  if (!is_given) return fail(ErrorCode::kDataLoss, "operator roots: of other inputs");
  const Digest list = list_root(roots.list);
  COMMENSAL_TRY(check_signature(roots, root, list, setup_.job.provider));

  const auto& types = setup_.survey->known.types;
  std::map<graph::ValueId, TensorFacts> facts = setup_.model->weights;
  for (std::size_t i = 0; i < roots.inputs.size(); ++i) {
    const auto& type = types[static_cast<std::size_t>(graph.inputs[i])];
    if (!type || dispute::shaped_of(*type) != roots.inputs[i].type) {
      return fail(ErrorCode::kInvalidArgument, "operator roots: input {} of another type", i);
    }
    facts[graph.inputs[i]] = roots.inputs[i];
  }
  std::optional<Finding> finding;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    for (std::size_t o = 0; o < graph.nodes[n].outputs.size(); ++o) {
      const graph::ValueId id = graph.nodes[n].outputs[o];
      if (id == graph::kAbsent) continue;
      facts[id] = roots.list[n].outputs[o];
      const auto& type = types[static_cast<std::size_t>(id)];
      const bool fits = !type || dispute::shaped_of(*type) == facts[id].type;
      if (!fits && !finding) finding = Finding{Fault::kType, n, o, 0, 0, 0};
    }
  }
  crypto::MerkleBuilder outputs;
  for (const graph::ValueId id : graph.outputs) {
    protocol::Writer leaf;
    leaf.text(graph.name_of(id));
    leaf.raw(arbiter::tensor_root(facts.at(id)));
    outputs.add(crypto::leaf_hash(leaf.written()));
  }
  output_root_ = arbiter::counted_root("commensal/state/v1", graph.outputs.size(), outputs.root());
  const bool is_committed =
      !setup_.output_salt ||
      protocol::commit_step(setup_.body.job_id, setup_.body.step, output_root_,
                            *setup_.output_salt) == setup_.body.commitment;
  if (!finding && !is_committed) finding = Finding{Fault::kOutput, 0, 0, 0, 0, 0};
  facts_ = std::move(facts);
  list_ = std::move(roots.list);
  list_root_ = list;
  finding_ = finding;
  go_to(finding ? Phase::kDone : Phase::kRooted);
  return {};
}

Result<void> Audit::beacon(std::uint64_t round, const Digest& value) {
  COMMENSAL_TRY(expect(Phase::kRooted, "beacon"));
  if (round != setup_.round) {
    return fail(ErrorCode::kInvalidArgument, "audit: round {} of the beacon, expected {}", round,
                setup_.round);
  }
  questions_ = draw(*setup_.model->graph, *setup_.survey, setup_.terms,
                    audit_seed(value, protocol::receipt_id(setup_.body), list_root_));
  go_to(Phase::kDrawn);
  return {};
}

Result<void> Audit::openings(ByteView message) {
  COMMENSAL_TRY(expect(Phase::kDrawn, "openings"));
  COMMENSAL_ASSIGN(const Openings openings, decode_openings(message));
  if (openings.receipt_id != protocol::receipt_id(setup_.body) || openings.round != setup_.round) {
    return fail(ErrorCode::kInvalidArgument, "openings: of another receipt or round");
  }
  Answers answers(*setup_.model, facts_, list_, setup_.terms, *scratch_);
  std::size_t next = 0;
  std::optional<Finding> first;
  for (const Question& question : questions_) {
    COMMENSAL_ASSIGN(auto found, answers.check(question, openings, next));
    if (!first) first = found;
    // Nothing was opened after a type that does not follow: what comes then has no place.
    if (first && first->fault == Fault::kType) break;
  }
  const bool is_cut = first && first->fault == Fault::kType;
  if (!is_cut && next != openings.parts.size()) {
    return fail(ErrorCode::kInvalidArgument, "openings: {} parts, expected {}",
                openings.parts.size(), next);
  }
  finding_ = first;
  go_to(Phase::kDone);
  return {};
}

void Audit::check_time() {
  const bool waits = phase_ == Phase::kAsked || phase_ == Phase::kDrawn;
  if (waits && clock_->monotonic_ns() > deadline_ns_) phase_ = Phase::kSilent;
}

}  // namespace commensal::spot
