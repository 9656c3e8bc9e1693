// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/arbiter/referee.hpp>

namespace commensal::arbiter {
namespace {

using core::ErrorCode;
using core::fail;

constexpr std::int64_t kNsPerMs = 1'000'000;

template <class... Args>
tl::unexpected<core::Error> unproven(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::kDataLoss, format, std::forward<Args>(args)...);
}

// What a phase takes, and from whom.
struct PhaseRow {
  Phase phase;
  std::string_view name;
  std::array<bool, kSides> owes;
};
constexpr PhaseRow kPhases[] = {
    {Phase::kClaims, "claims", {true, true}},
    {Phase::kCheckpoints, "checkpoints", {true, true}},
    {Phase::kSegmentClaims, "segment claims", {true, true}},
    {Phase::kCarried, "carried", {false, true}},
    {Phase::kNodes, "nodes", {true, true}},
    {Phase::kFacts, "facts", {false, true}},
    {Phase::kElements, "elements", {true, true}},
    {Phase::kElementClaims, "element claims", {true, true}},
    {Phase::kSteps, "steps", {true, true}},
    {Phase::kOperands, "operands", {false, true}},
    {Phase::kOver, "over", {false, false}},
};
const PhaseRow& row_of(Phase phase) { return kPhases[static_cast<std::size_t>(phase)]; }

}  // namespace

std::string_view name_of(Phase phase) { return row_of(phase).name; }
std::string_view name_of(Ending ending) {
  constexpr std::string_view kNames[] = {"proved", "late", "undecided"};
  return kNames[static_cast<std::size_t>(ending)];
}

Digest id_of(const Setup& setup) {
  const Digest receipt = protocol::receipt_id(setup.receipt.body());
  const crypto::Address& accused = accused_in(setup);
  if (accused == setup.receipt.job.provider) return dispute_id(receipt, setup.challenger);
  return crypto::tagged_hash("commensal/dispute-of-report/v1", receipt, setup.challenger.bytes,
                             accused.bytes);
}

Referee::Referee(Setup setup, const core::Clock& clock) : setup_(std::move(setup)), clock_(&clock) {
  file_.receipt = setup_.receipt;
  file_.input_salt = setup_.input_salt;
  id_ = id_of(setup_);
  enter(Phase::kClaims);
}

core::Result<Referee> Referee::open(Setup setup, const core::Clock& clock) {
  COMMENSAL_TRY(protocol::verify_receipt(setup.receipt));
  const protocol::Job& job = setup.receipt.job;
  if (has_fixed_input(job) &&
      protocol::commit_input(setup.input_root, setup.input_salt) != job.input_commitment) {
    return unproven("the input root does not open the job's c_0");
  }
  if (setup.challenger == accused_in(setup)) {
    return fail(ErrorCode::kInvalidArgument, "nobody can challenge itself");
  }
  return Referee(std::move(setup), clock);
}

bool Referee::owes(Side side) const { return row_of(phase_).owes[at(side)] && !moved_[at(side)]; }

MoveKind Referee::due() const {
  constexpr MoveKind kDue[] = {
      MoveKind::kClaim,    MoveKind::kChildren, MoveKind::kSegmentClaim, MoveKind::kCarried,
      MoveKind::kChildren, MoveKind::kFacts,    MoveKind::kChildren,     MoveKind::kElementClaim,
      MoveKind::kChildren, MoveKind::kOperands};
  core::check(phase_ != Phase::kOver, "what is over has no move");
  const MoveKind due = kDue[static_cast<std::size_t>(phase_)];
  return due == MoveKind::kChildren && descent_.is_at_leaf() ? MoveKind::kLeaf : due;
}

void Referee::enter(Phase phase) {
  phase_ = phase;
  moved_ = {};
  deadline_ns_ = clock_->monotonic_ns() + setup_.move_ms_max * kNsPerMs;
}

void Referee::end(Outcome outcome) {
  outcome_ = std::move(outcome);
  enter(Phase::kOver);
}

void Referee::check_time() {
  if (phase_ == Phase::kOver || clock_->monotonic_ns() <= deadline_ns_) return;
  Outcome late{Ending::kLate, {owes(Side::kProvider), owes(Side::kChallenger)}, {}, {}};
  late.reason = fmt::format("{} did not move in time: {}, round {}",
                            late.wrong[0] && late.wrong[1] ? "both sides"
                            : late.wrong[0]                ? "the provider"
                                                           : "the challenger",
                            name_of(phase_), round_);
  end(std::move(late));
}

core::Result<void> Referee::check_order(Side side, const Move& move) const {
  if (move.dispute != id_) return fail(ErrorCode::kFailedPrecondition, "a move of another dispute");
  if (move.round != round_) {
    return fail(ErrorCode::kFailedPrecondition, "out of order: round {}, expected {}", move.round,
                round_);
  }
  if (!owes(side)) {
    return fail(ErrorCode::kFailedPrecondition, "the {} {}", protocol::name_of(side),
                moved_[at(side)] ? "has already moved in this round" : "has no move here");
  }
  const MoveKind expected = due();
  if (move.kind != expected) {
    return fail(ErrorCode::kFailedPrecondition, "out of order: {}, expected {}",
                protocol::name_of(move.kind), protocol::name_of(expected));
  }
  return {};
}

core::Result<void> Referee::move(Side side, ByteView bytes) {
  check_time();
  if (phase_ == Phase::kOver) return fail(ErrorCode::kFailedPrecondition, "the dispute is over");
  if (bytes.size() > limits::kDisputeMoveBytesMax ||
      bytes_[at(side)] + bytes.size() > limits::kDisputeBytesMax) {
    return fail(ErrorCode::kResourceExhausted, "{} bytes, at most {} a move and {} in all",
                bytes.size(), limits::kDisputeMoveBytesMax, limits::kDisputeBytesMax);
  }
  COMMENSAL_ASSIGN(const Move move, protocol::decode<Move>(bytes));
  COMMENSAL_TRY(check_order(side, move));
  constexpr core::Result<void> (Referee::*kTakers[])(Side, ByteView) = {
      &Referee::take_claim,         &Referee::take_children, &Referee::take_leaf,
      &Referee::take_segment_claim, &Referee::take_carried,  &Referee::take_facts,
      &Referee::take_element_claim, &Referee::take_operands};
  COMMENSAL_TRY((this->*kTakers[static_cast<std::size_t>(move.kind)])(side, move.body));
  bytes_[at(side)] += bytes.size();
  moved_[at(side)] = true;
  if (!owes(Side::kProvider) && !owes(Side::kChallenger)) {
    ++round_;
    advance();
  }
  return {};
}

// ---- what a move must be ----------------------------------------------------------------

core::Result<void> Referee::take_claim(Side side, ByteView bytes) {
  COMMENSAL_ASSIGN(const ClaimBody body, decode_body<ClaimBody>(bytes));
  const TraceClaim& claim = body.claim;
  const protocol::Job& job = setup_.receipt.job;
  const crypto::Address& party = side == Side::kProvider ? accused_in(setup_) : setup_.challenger;
  const protocol::ReceiptBody receipt = setup_.receipt.body();
  if (claim.receipt_id != protocol::receipt_id(receipt) || claim.side != side ||
      claim.party != party) {
    return unproven("a claim of another receipt or side");
  }
  COMMENSAL_TRY(verify_claim(claim));
  COMMENSAL_TRY(check_programs(claim));
  if (claim.input_root != setup_.input_root) return unproven("a claim from other inputs");
  const bool opens = protocol::commit_step(receipt.job_id, receipt.step, claim.output_root,
                                           setup_.output_salt) == receipt.commitment;
  if (opens != (side == Side::kProvider)) {
    return unproven("{}", side == Side::kProvider
                              ? "the outputs do not open the receipt's commitment"
                              : "the outputs are those of the receipt");
  }
  if (claim.nodes != body.sizes.nodes) return unproven("another number of nodes than the graph's");
  Ground ground{job.graph_root, job.weight_root, claim.input_root, body.sizes, {}, {}, 0, 0, {}};
  ground.traces = {claim.trace_root};
  if (claim.nodes > 0) ground.checkpoint = segment_count(claim.nodes) - 1;
  COMMENSAL_ASSIGN(const Digest outputs, check_outputs(body.outputs, ground));
  if (outputs != claim.output_root) return unproven("the trace ends in other outputs");
  file_.words[at(side)].claim = claim;
  sizes_[at(side)] = body.sizes;
  return {};
}

core::Result<void> Referee::take_children(Side side, ByteView bytes) {
  COMMENSAL_ASSIGN(const Children children, decode_body<Children>(bytes));
  COMMENSAL_TRY(descent_.check(side, children));
  children_[at(side)] = children;
  return {};
}

core::Result<void> Referee::take_leaf(Side side, ByteView bytes) {
  COMMENSAL_TRY(descent_.check(side, bytes));
  const std::uint64_t nodes = file_.words[0].claim.nodes;
  if (phase_ == Phase::kCheckpoints) {
    COMMENSAL_ASSIGN(const CheckpointLeaf leaf, decode_checkpoint(bytes));
    if (leaf.upto != segment_first(nodes, descent_.first() + 1)) {
      return unproven("a checkpoint of another place");
    }
  } else if (phase_ == Phase::kNodes) {
    COMMENSAL_ASSIGN(const TraceLeaf leaf, decode_trace_leaf(bytes));
    if (leaf.node != segment_first(nodes, file_.words[0].checkpoint.index) + descent_.first()) {
      return unproven("a leaf of another node");
    }
  } else {
    const Shaped& type = known_->call.outputs[output_];  // both sides say so
    const std::uint64_t all =
        phase_ == Phase::kSteps
            ? program_->steps() * kStepBytes
            : static_cast<std::uint64_t>(type.elements()) * element_bytes(type.dtype);
    if (bytes.size() != leaf_bytes(all, descent_.first())) return unproven("a leaf's length");
  }
  leaves_[at(side)].assign(bytes.begin(), bytes.end());
  return {};
}

core::Result<void> Referee::take_segment_claim(Side side, ByteView bytes) {
  COMMENSAL_ASSIGN(const SegmentClaim claim, decode_body<SegmentClaim>(bytes));
  Word& word = file_.words[at(side)];
  if (claim.claim_id != claim_id(word.claim) || claim.segment != word.checkpoint.index) {
    return unproven("a claim of another segment");
  }
  COMMENSAL_TRY(verify_claim(claim, word.claim.party));
  word.segment = claim;
  return {};
}

core::Result<void> Referee::take_carried(Side, ByteView bytes) {
  COMMENSAL_ASSIGN(const TensorProof proof, decode_body<TensorProof>(bytes));
  VerdictFile complete = file_;
  complete.matter = Matter::kCarried;
  complete.facts.sizes = sizes_[0];
  complete.carried = {proof};
  COMMENSAL_TRY(judge(complete, accused_in(setup_)));
  file_ = std::move(complete);
  return {};
}

core::Result<void> Referee::take_facts(Side, ByteView bytes) {
  COMMENSAL_ASSIGN(NodeFacts facts, decode_body<NodeFacts>(bytes));
  const std::uint64_t node = node_of(file_);
  COMMENSAL_ASSIGN(known_, check_facts(facts, node, ground_of(file_, sizes_[0], node)));
  file_.facts = std::move(facts);
  return {};
}

core::Result<void> Referee::take_element_claim(Side side, ByteView bytes) {
  COMMENSAL_ASSIGN(const ElementBody body, decode_body<ElementBody>(bytes));
  Word& word = file_.words[at(side)];
  const ElementClaim& claim = body.claim;
  if (claim.claim_id != claim_id(word.claim) || claim.node != node_of(file_) ||
      claim.output != output_ || claim.element != element_ || claim.steps != program_->steps()) {
    return unproven("a claim of another element");
  }
  COMMENSAL_TRY(verify_claim(claim, word.claim.party));
  const std::uint64_t count = step_leaves(claim.steps);
  COMMENSAL_TRY(check_leaf(body.last, claim.steps_root, count - 1, count, "last step"));
  if (body.last.leaf.size() != leaf_bytes(claim.steps * kStepBytes, count - 1)) {
    return unproven("last step: a leaf's length");
  }
  const Shaped& type = known_->call.outputs[output_];
  if (step_value(body.last.leaf, claim.steps - 1) !=
      element_in(word.element.leaf, type.dtype, element_)) {
    return unproven("the last step is not the element");
  }
  word.element_claim = claim;
  return {};
}

core::Result<void> Referee::take_operands(Side, ByteView bytes) {
  COMMENSAL_ASSIGN(OperandsBody body, decode_body<OperandsBody>(bytes));
  VerdictFile complete = file_;
  complete.matter = Matter::kOperation;
  complete.operands = std::move(body);
  COMMENSAL_TRY(judge(complete, accused_in(setup_)));
  file_ = std::move(complete);
  return {};
}

// ---- what follows from it ---------------------------------------------------------------

void Referee::advance() {
  const auto roots = [this](auto&& of) {
    return std::array<Digest, kSides>{of(file_.words[0]), of(file_.words[1])};
  };
  switch (phase_) {
    case Phase::kClaims:
      if (sizes_[0].nodes == 0 ||
          file_.words[0].claim.trace_root == file_.words[1].claim.trace_root) {
        return undecided({ErrorCode::kUnsupported, "a graph whose outputs no node makes"});
      }
      descent_ = Descent(segment_count(sizes_[0].nodes),
                         roots([](const Word& w) { return w.claim.trace_root; }));
      return enter(Phase::kCheckpoints);
    case Phase::kSegmentClaims:
      return after_segment_claims();
    case Phase::kCarried:
      return end_by_file(Matter::kCarried);
    case Phase::kFacts:
      return after_facts();
    case Phase::kElementClaims:
      descent_ = Descent(step_leaves(program_->steps()),
                         roots([](const Word& w) { return w.element_claim.steps_root; }));
      return enter(Phase::kSteps);
    case Phase::kOperands:
      return end_by_file(Matter::kOperation);
    default:
      break;
  }
  if (descent_.is_at_leaf()) return after_leaves();
  descent_.go_down(children_);
  enter(phase_);
}

void Referee::after_segment_claims() {
  const Word &a = file_.words[0], &b = file_.words[1];
  if (a.segment.nodes_root == b.segment.nodes_root) {
    const auto left = decode_checkpoint(a.checkpoint.leaf);
    const auto right = decode_checkpoint(b.checkpoint.leaf);
    if (first_difference(*left, *right)) return enter(Phase::kCarried);
    return undecided({ErrorCode::kUnsupported, "checkpoints of other values"});
  }
  const std::uint64_t nodes = a.claim.nodes, segment = a.checkpoint.index;
  descent_ = Descent(segment_first(nodes, segment + 1) - segment_first(nodes, segment),
                     {a.segment.nodes_root, b.segment.nodes_root});
  enter(Phase::kNodes);
}

void Referee::after_facts() {
  const auto a = decode_trace_leaf(file_.words[0].trace.leaf);
  const auto b = decode_trace_leaf(file_.words[1].trace.leaf);
  output_ = first_difference(*a, *b);
  const std::size_t expected = known_->call.node.outputs.size();
  if (a->outputs.size() != expected || b->outputs.size() != expected ||
      a->outputs[output_].type != b->outputs[output_].type) {
    return end_by_file(Matter::kType);
  }
  enter_elements(a->outputs[output_], b->outputs[output_]);
}

void Referee::enter_elements(const TensorFacts& a, const TensorFacts& b) {
  // An operator that has no program need not be gone into any further.
  NodeCall call = known_->call;
  const TraceLeaf leaf = *decode_trace_leaf(file_.words[0].trace.leaf);
  for (std::size_t o = 0; o <= output_; ++o) call.outputs.push_back(leaf.outputs[o].type);
  known_->call = std::move(call);
  if (const auto program = Program::of(known_->call, output_, 0); !program) {
    return undecided(program.error());
  }
  descent_ = Descent(leaf_count(a.type), {a.bytes_root, b.bytes_root});
  enter(Phase::kElements);
}

void Referee::after_leaves() {
  for (const Side side : {Side::kProvider, Side::kChallenger}) {
    Word& word = file_.words[at(side)];
    LeafProof& place = phase_ == Phase::kCheckpoints ? word.checkpoint
                       : phase_ == Phase::kNodes     ? word.trace
                       : phase_ == Phase::kElements  ? word.element
                                                     : word.steps;
    place = descent_.proof(side, leaves_[at(side)]);
  }
  if (phase_ == Phase::kCheckpoints) return enter(Phase::kSegmentClaims);
  if (phase_ == Phase::kNodes) return enter(Phase::kFacts);
  const std::uint64_t index = descent_.first();
  if (phase_ == Phase::kSteps) {
    step_ = *first_difference(leaves_[0], leaves_[1], kStepBytes, index);
    return enter(Phase::kOperands);
  }
  const std::uint64_t size = element_bytes(known_->call.outputs[output_].dtype);
  element_ = *first_difference(leaves_[0], leaves_[1], size, index);
  auto program = Program::of(known_->call, output_, element_);
  if (!program) return undecided(program.error());
  program_ = *std::move(program);
  enter(Phase::kElementClaims);
}

void Referee::undecided(const core::Error& why) {
  end({Ending::kUndecided, {}, {}, fmt::format("node {}: {}", node_of(file_), why.message)});
}

void Referee::end_by_file(Matter matter) {
  file_.matter = matter;
  const auto found = judge(file_, accused_in(setup_));
  if (!found) return undecided(found.error());
  end({Ending::kProved, found->wrong, *found, text_of(*found)});
}

}  // namespace commensal::arbiter
