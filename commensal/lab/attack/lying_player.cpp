// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/attack/lying_player.hpp>
#include <commensal/verify/dispute/player.hpp>

namespace commensal::attack {
namespace {

using arbiter::Referee;
using arbiter::Side;
using dispute::Hand;
using dispute::Player;
using dispute::Rerun;
using tensor::Tensor;

/// Flips the lowest bit of one element before anybody else sees it.
class Tampering final : public graph::Tracer {
 public:
  Tampering(const graph::Node* node, std::uint64_t draw, graph::Tracer& inner)
      : node_(node), draw_(draw), inner_(inner) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    if (&node == node_) {
      const Tensor& output = outputs[0];
      const std::size_t size = tensor::traits(output.dtype()).size;
      const std::size_t element = draw_ % static_cast<std::uint64_t>(output.elements());
      const_cast<std::uint8_t*>(output.bytes().data())[element * size] ^= 1;
    }
    inner_.after_node(node, call, outputs);
  }

 private:
  const graph::Node* node_;
  std::uint64_t draw_;
  graph::Tracer& inner_;
};

Rerun lying(const graph::Node* node, std::uint64_t draw, Rerun honest) {
  return [=](graph::Tracer& tracer, core::Pacer* pacer) {
    Tampering tampering(node, draw, tracer);
    return honest(tampering, pacer);
  };
}

/// Both answer until it is over; who has nothing to say runs out of time.
void play(Referee& referee, core::ManualClock& clock, Player& provider, Player& challenger) {
  constexpr int kTurnsMax = 1000;
  for (int turns = 0; turns < kTurnsMax && !referee.outcome(); ++turns) {
    bool moved = false;
    for (const Side side : {Side::kProvider, Side::kChallenger}) {
      Player& player = side == Side::kProvider ? provider : challenger;
      const auto answer = player.answer(referee);
      if (!answer || !*answer) continue;
      moved = referee.move(side, **answer).has_value() || moved;
    }
    clock.advance_ms(moved ? 1 : referee.setup().move_ms_max + 1);
    referee.check_time();
  }
}

}  // namespace

Result<arbiter::Outcome> dispute_with_liar(Models& models, Stand& stand, const Work& work) {
  const auto& graph = models.digits_graph();
  COMMENSAL_ASSIGN(const auto inputs, verify::order_inputs(*graph, work.inputs));
  const Rerun honest = dispute::rerun_on(models.digits(), inputs);
  kernels::ThreadPool threads(1);
  const auto hand = [&](Side side, const Party& who, Rerun rerun) {
    return Hand{side, &who.key, graph, models.digits_leaves(), inputs, std::move(rerun)};
  };
  COMMENSAL_ASSIGN(auto provider,
                   Player::prepare(hand(Side::kProvider, stand.provider(), honest), threads));
  // The element must matter: the last node's always does.
  std::optional<Player> liar;
  for (int tries = 0; !liar || liar->output_root() == provider.output_root(); ++tries) {
    constexpr int kTriesMax = 8;
    const std::size_t last = graph->nodes.size() - 1;
    const std::size_t place = tries < kTriesMax ? stand.rng().next_u64() % (last + 1) : last;
    const Rerun bent = lying(&graph->nodes[place], stand.rng().next_u64(), honest);
    auto prepared = Player::prepare(hand(Side::kChallenger, stand.auditor(), bent), threads);
    if (!prepared) return tl::unexpected(prepared.error());
    liar.emplace(*std::move(prepared));
  }
  core::ManualClock clock;
  arbiter::Setup setup;
  setup.receipt = work.receipt;
  setup.input_root = verify::state_root(work.inputs);
  setup.input_salt = work.input_salt;
  setup.output_salt = work.output_salt;
  setup.challenger = stand.auditor().address;
  COMMENSAL_ASSIGN(auto referee, Referee::open(std::move(setup), clock));
  play(referee, clock, provider, *liar);
  if (referee.outcome()) return *referee.outcome();
  return core::fail(core::ErrorCode::kInternal, "a dispute did not end");
}

}  // namespace commensal::attack
