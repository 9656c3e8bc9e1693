// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/tensor/element.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/dispute/describe.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::dispute {

using arbiter::Phase;
using arbiter::Referee;
using arbiter::TensorProof;
using core::Bytes;
using core::ByteView;
using protocol::Writer;
using tensor::Tensor;

namespace {

// The leaves of a state root.
std::vector<Bytes> state_leaves(const tensor::NamedTensors& tensors) {
  std::vector<Bytes> leaves;
  for (const tensor::NamedTensor& item : tensors) {
    Writer leaf;
    leaf.text(item.name);
    leaf.raw(receipt::tensor_root(item.value));
    leaves.push_back(std::move(leaf).take());
  }
  return leaves;
}

Bytes bytes_of(const Tensor& tensor) {
  const ByteView bytes = tensor.bytes();
  return {bytes.begin(), bytes.end()};
}

Bytes bytes_of(const std::vector<std::uint64_t>& values) {
  Bytes bytes;
  bytes.reserve(values.size() * arbiter::kStepBytes);
  for (const std::uint64_t value : values) {
    for (std::uint64_t b = 0; b < arbiter::kStepBytes; ++b) {
      bytes.push_back(static_cast<std::uint8_t>(value >> 8 * b));
    }
  }
  return bytes;
}

}  // namespace

Rerun rerun_on(graph::Session& session, const std::vector<Tensor>& inputs) {
  return [&session, &inputs](graph::Tracer& tracer, core::Pacer* pacer) {
    return session.run(inputs, {.tracer = &tracer, .pacer = pacer});
  };
}

void plan_on(graph::Session& session, Hand& hand) {
  hand.planned = PlannedTrace::of(session);
  hand.run_other = [&session](graph::Prepared& other, std::span<const Tensor> inputs) {
    return session.run_other(other, inputs);
  };
}

core::Result<Player> Player::prepare(Hand hand, kernels::ThreadPool& threads) {
  Player player(std::move(hand), threads);
  COMMENSAL_TRY(player.run());
  return player;
}

core::Result<std::vector<Tensor>> Player::record() {
  if (hand_.planned != nullptr) {
    COMMENSAL_ASSIGN(planned_, hand_.planned->run(hand_.run_other, hand_.inputs));
  }
  if (!planned_) return record_nodes(hand_.kept_bytes_max);
  std::map<graph::ValueId, arbiter::TensorFacts> facts;
  for (const auto& [id, value] : planned_->values) facts[id] = facts_of(value, *threads_);
  COMMENSAL_ASSIGN(checkpoints_, Lives(*hand_.graph).leaves(*hand_.model, facts));
  if (planned_->bytes() > hand_.kept_bytes_max) planned_->values.clear();
  return std::move(planned_->outputs);
}

core::Result<std::vector<Tensor>> Player::record_nodes(std::int64_t kept_bytes_max) {
  CheckpointRecorder recorder(*hand_.graph, *hand_.model, *threads_, kept_bytes_max);
  auto outputs = hand_.rerun(recorder, nullptr);
  if (!outputs) {
    const bool is_short = outputs.error().code == core::ErrorCode::kResourceExhausted;
    if (!is_short || !recorder.keeps()) return outputs;
    recorder.take_runs();
    return record_nodes(0);
  }
  COMMENSAL_ASSIGN(checkpoints_, std::move(recorder).take());
  kept_ = recorder.take_runs();
  return outputs;
}

core::Result<void> Player::run() {
  const graph::Graph& graph = *hand_.graph;
  COMMENSAL_ASSIGN(std::vector<Tensor> outputs, record());
  std::vector<Bytes> leaves;
  for (const arbiter::CheckpointLeaf& leaf : checkpoints_) leaves.push_back(arbiter::encode(leaf));
  trace_tree_ = Tree(std::move(leaves));
  graph_tree_ = Tree(hand_.model->graph);
  weight_tree_ = Tree(hand_.model->weights);
  state_tree_ = Tree(state_leaves(receipt::name_tensors(graph, graph.inputs, hand_.inputs)));
  output_root_ =
      receipt::state_root(receipt::name_tensors(graph, graph.outputs, std::move(outputs)));
  return {};
}

arbiter::GraphSizes Player::sizes() const {
  return {hand_.model->inputs, hand_.model->nodes, hand_.model->outputs};
}

TensorProof Player::prove(graph::ValueId id, std::optional<std::uint64_t> checkpoint) const {
  const graph::Graph& graph = *hand_.graph;
  TensorProof proof;
  proof.number = hand_.model->number(id);
  if (const auto weight = graph.initialisers.find(id); weight != graph.initialisers.end()) {
    proof.origin = arbiter::Origin::kWeight;
    proof.facts = facts_of(weight->second, *threads_);
    for (std::size_t i = 0; i < weight_tree_.size(); ++i) {
      protocol::Reader leaf(weight_tree_.leaf(i), "weight");
      if (leaf.u32() == proof.number) proof.holder = weight_tree_.prove(i);
    }
    return proof;
  }
  const auto input = std::ranges::find(graph.inputs, id);
  if (input != graph.inputs.end()) {
    const auto place = static_cast<std::size_t>(input - graph.inputs.begin());
    proof.facts = facts_of(hand_.inputs[place], *threads_);
    proof.maker = graph_tree_.prove(place);
    proof.holder = state_tree_.prove(place);
    return proof;
  }
  if (checkpoint) {
    for (const arbiter::CheckpointLeaf::Entry& entry : checkpoints_[*checkpoint].live) {
      if (entry.number != proof.number) continue;
      proof.origin = arbiter::Origin::kCheckpoint;
      proof.facts = entry.facts;
      proof.holder = trace_tree_.prove(*checkpoint);
      return proof;
    }
  }
  for (std::size_t i = 0; captured_ && i < captured_->runs.size(); ++i) {
    const std::size_t n = captured_->first + i;
    const auto found = std::ranges::find(graph.nodes[n].outputs, id);
    if (found == graph.nodes[n].outputs.end()) continue;
    proof.origin = arbiter::Origin::kNode;
    proof.output = static_cast<std::uint32_t>(found - graph.nodes[n].outputs.begin());
    proof.facts = captured_leaves_[i].outputs[proof.output];
    proof.maker = graph_tree_.prove(hand_.model->inputs + n);
    proof.holder = segment_tree_.prove(i);
    return proof;
  }
  return proof;
}

std::optional<std::uint64_t> Player::checkpoint_before(const Referee& referee) const {
  const std::uint64_t segment = referee.file().words[0].checkpoint.index;
  return segment > 0 ? std::optional(segment - 1) : std::nullopt;
}

const NodeRun& Player::node_run(const Referee& referee) const {
  return captured_->runs[referee.file().words[0].trace.index];
}

// ---- moves ------------------------------------------------------------------------------

core::Result<std::optional<Bytes>> Player::answer(const Referee& referee) {
  if (!referee.owes(hand_.side)) return std::optional<Bytes>();
  arbiter::Move move;
  move.dispute = referee.id();
  move.round = referee.round();
  move.kind = referee.due();
  COMMENSAL_ASSIGN(move.body, body_of(referee));
  return std::optional<Bytes>(protocol::encode(move));
}

core::Result<Bytes> Player::body_of(const Referee& referee) {
  const Phase phase = referee.phase();
  if (phase == Phase::kClaims) return claim(referee);
  if (phase >= Phase::kSegmentClaims && phase != Phase::kOver) COMMENSAL_TRY(capture(referee));
  COMMENSAL_TRY(check_own_words(referee));
  switch (phase) {
    case Phase::kCheckpoints:
      return trace_tree_.show(referee.descent());
    case Phase::kSegmentClaims:
      return segment_claim(referee);
    case Phase::kCarried:
      return carried(referee);
    case Phase::kNodes:
      return segment_tree_.show(referee.descent());
    case Phase::kFacts:
      return facts(referee);
    case Phase::kElements:
      return output_tree(referee).show(referee.descent());
    case Phase::kElementClaims:
      return element_claim(referee);
    case Phase::kSteps:
      return steps_tree(referee).show(referee.descent());
    case Phase::kOperands:
      return operands(referee);
    default:
      break;
  }
  return core::fail(core::ErrorCode::kFailedPrecondition, "the dispute is over");
}

core::Result<void> Player::check_own_words(const Referee& referee) const {
  const auto& words = referee.file().words;
  const arbiter::Word& own = words[at(hand_.side)];
  const std::uint64_t nodes = hand_.graph->nodes.size();
  const bool is_claimed = own.claim.trace_root == trace_tree_.root() &&
                          words[0].claim.nodes == nodes && words[1].claim.nodes == nodes;
  const bool has_segment = referee.phase() > Phase::kSegmentClaims;
  if (is_claimed && (!has_segment || own.segment.nodes_root == segment_tree_.root())) return {};
  return core::fail(core::ErrorCode::kFailedPrecondition,
                    "this side has claimed another run of the model: it cannot go on");
}

core::Result<void> Player::capture(const Referee& referee) {
  if (captured_) return {};
  const std::uint64_t segment = referee.file().words[0].checkpoint.index;
  if (segment >= checkpoints_.size()) {
    return core::fail(core::ErrorCode::kFailedPrecondition, "segment {} of {}", segment,
                      checkpoints_.size());
  }
  const std::uint64_t nodes = hand_.graph->nodes.size();
  const std::size_t first = arbiter::segment_first(nodes, segment);
  const std::size_t end = arbiter::segment_first(nodes, segment + 1);
  if (kept_) {
    const auto begin = std::move_iterator(kept_->runs.begin());
    captured_ = Segment{first, {begin + first, begin + end}};
    kept_.reset();
  } else if (auto run = std::exchange(planned_, {})) {
    COMMENSAL_ASSIGN(captured_, hand_.planned->segment(hand_.run_other, hand_.inputs,
                                                       *std::move(run), first, end - first));
  }
  if (!captured_) {
    COMMENSAL_ASSIGN(captured_, run_segment(first, end - first));
  }
  std::vector<Bytes> leaves;
  for (std::size_t i = 0; i < captured_->runs.size(); ++i) {
    captured_leaves_.push_back(captured_->leaf(i, *threads_));
    leaves.push_back(arbiter::encode(captured_leaves_.back()));
  }
  segment_tree_ = Tree(std::move(leaves));
  return {};
}

core::Result<Segment> Player::run_segment(std::size_t first, std::size_t count) {
  SegmentCapture capture(*hand_.graph, first, count);
  const auto run = hand_.rerun(capture, &capture);
  if (capture.is_done()) return std::move(capture).take();
  if (!run) return tl::unexpected(run.error());
  return core::fail(core::ErrorCode::kInternal,
                    "the model ran twice and differed: no dispute about it can be played");
}

const Tree& Player::output_tree(const Referee& referee) {
  if (output_tree_.size() == 0) {
    output_tree_ = Tree(bytes_of(node_run(referee).outputs[referee.output()]), *threads_);
  }
  return output_tree_;
}

const Tree& Player::steps_tree(const Referee& referee) {
  if (steps_tree_.size() == 0) {
    const NodeRun& node = node_run(referee);
    const std::uint64_t element = tensor::element_bits(
        node.outputs[referee.output()], static_cast<std::int64_t>(referee.element()));
    steps_tree_ = Tree(bytes_of(values_of(referee.program(), node, element)), *threads_);
  }
  return steps_tree_;
}

Bytes Player::claim(const Referee& referee) const {
  arbiter::ClaimBody body;
  body.sizes = sizes();
  arbiter::TraceClaim claim;
  claim.receipt_id = protocol::receipt_id(referee.setup().receipt.body());
  claim.side = hand_.side;
  claim.input_root = referee.setup().input_root;
  claim.output_root = output_root_;
  claim.trace_root = trace_tree_.root();
  claim.nodes = hand_.graph->nodes.size();
  claim.programs = arbiter::kProgramsVersion;
  body.claim = hand_.key != nullptr ? sign_claim(*hand_.key, claim) : claim;
  const std::uint64_t first = hand_.model->inputs + hand_.model->nodes;
  for (std::size_t i = 0; i < hand_.graph->outputs.size(); ++i) {
    body.outputs.push_back(
        {graph_tree_.prove(first + i), prove(hand_.graph->outputs[i], checkpoints_.size() - 1)});
  }
  return encode_body(body);
}

Bytes Player::segment_claim(const Referee& referee) const {
  const arbiter::Word& word = referee.file().words[at(hand_.side)];
  arbiter::SegmentClaim claim;
  claim.claim_id = claim_id(word.claim);
  claim.segment = word.checkpoint.index;
  claim.nodes_root = segment_tree_.root();
  if (hand_.key != nullptr) claim = sign_claim(*hand_.key, claim);
  return encode_body(claim);
}

Bytes Player::carried(const Referee& referee) const {
  const auto& words = referee.file().words;
  const auto a = arbiter::decode_checkpoint(words[0].checkpoint.leaf);
  const auto b = arbiter::decode_checkpoint(words[1].checkpoint.leaf);
  const std::uint32_t number = a->live[*arbiter::first_difference(*a, *b)].number;
  for (const auto& [id, given] : hand_.model->numbers) {
    if (given == number) return encode_body(prove(id, checkpoint_before(referee)));
  }
  return encode_body(TensorProof());
}

Bytes Player::facts(const Referee& referee) const {
  const std::uint64_t index = arbiter::node_of(referee.file());
  const graph::Node& node = hand_.graph->nodes[index];
  arbiter::NodeFacts body;
  body.sizes = sizes();
  body.node = graph_tree_.prove(hand_.model->inputs + index);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == graph::kAbsent) continue;
    body.inputs.push_back(prove(node.inputs[i], checkpoint_before(referee)));
    const Tensor& input = node_run(referee).inputs[i];
    body.lists.push_back(list_of(input) ? bytes_of(input) : Bytes());
  }
  for (core::Bytes& list : attribute_lists(node.attributes)) body.lists.push_back(std::move(list));
  return encode_body(body);
}

std::vector<std::uint64_t> Player::values_of(const arbiter::Program& program, const NodeRun& node,
                                             std::uint64_t) const {
  return program.evaluate(fetch_from(node.inputs, node.outputs));
}

Bytes Player::element_claim(const Referee& referee) {
  const arbiter::Program& program = referee.program();
  const Tree& steps = steps_tree(referee);
  arbiter::ElementBody body;
  body.claim.claim_id = claim_id(referee.file().words[at(hand_.side)].claim);
  body.claim.node = arbiter::node_of(referee.file());
  body.claim.output = static_cast<std::uint32_t>(referee.output());
  body.claim.element = referee.element();
  body.claim.steps = program.steps();
  body.claim.steps_root = steps.root();
  if (hand_.key != nullptr) body.claim = sign_claim(*hand_.key, body.claim);
  body.last = steps.prove(arbiter::step_leaves(program.steps()) - 1);
  return encode_body(body);
}

Bytes Player::operands(const Referee& referee) {
  const arbiter::Step step = referee.program().at(referee.step());
  const Tree& steps = steps_tree(referee);
  arbiter::OperandsBody body;
  const auto count = static_cast<std::size_t>(scalar::operation(step.op).operands);
  for (const arbiter::Operand& operand : std::span(step.operands).first(count)) {
    std::uint64_t index = operand.value;
    if (operand.is_of_step()) {
      body.push_back(steps.prove(index * arbiter::kStepBytes / crypto::kMerkleLeafBytes));
      index = arbiter::step_value(body.back().leaf, index);
    }
    const bool is_own = operand.kind == arbiter::Operand::Kind::kOwn;
    if (!operand.is_of_input() && !is_own) continue;
    const NodeRun& node = node_run(referee);
    const Tensor& from =
        (is_own ? node.outputs : node.inputs)[static_cast<std::size_t>(operand.input)];
    const Tree tree(bytes_of(from), *threads_);
    body.push_back(tree.prove(arbiter::leaf_of(static_cast<std::uint8_t>(from.dtype()), index)));
  }
  return encode_body(body);
}

void play(Referee& referee, core::ManualClock& clock, Player& provider, Player& challenger) {
  constexpr int kTurnsMax = 1000;
  for (int turns = 0; turns < kTurnsMax && !referee.outcome(); ++turns) {
    bool moved = false;
    for (const arbiter::Side side : {arbiter::Side::kProvider, arbiter::Side::kChallenger}) {
      Player& player = side == arbiter::Side::kProvider ? provider : challenger;
      const auto answer = player.answer(referee);
      if (!answer || !*answer) continue;
      moved = referee.move(side, **answer).has_value() || moved;
    }
    clock.advance_ms(moved ? 1 : referee.setup().move_ms_max + 1);
    referee.check_time();
  }
}

}  // namespace commensal::dispute
