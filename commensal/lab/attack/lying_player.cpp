// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/attack/lying_player.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/verify/arbiter/referee.hpp>
#include <commensal/verify/dispute/contest.hpp>

namespace commensal::attack {

using arbiter::Referee;
using arbiter::Side;
using dispute::Hand;
using dispute::Player;
using dispute::Rerun;

namespace {

/// Each side's moves as it owes them, sent to the ledger; by the referee the players see what they
/// owe.
Result<void> play(Stand& stand, const ledger::CaseKey& key, Player& provider, Player& accuser) {
  const auto row = [&]() -> const ledger::CaseRow& { return *stand.state().cases.find(key); };
  const core::ManualClock clock{};
  COMMENSAL_ASSIGN(auto referee, Referee::open(cases::setup_of(row().dispute), clock));
  while (ledger::is_pending(row().status)) {
    bool moved = false;
    for (const Side side : {Side::kProvider, Side::kChallenger}) {
      const bool is_accuser = side == Side::kChallenger;
      const auto answer = (is_accuser ? accuser : provider).answer(referee);
      if (!answer || !*answer || !ledger::is_pending(row().status)) continue;
      // What is refused is not sent again: its side runs out of time.
      const ledger::Argue move{key.subject, key.accuser, **answer};
      if (!stand.send(is_accuser ? stand.auditor() : stand.provider(), move)) continue;
      COMMENSAL_TRY(referee.move(side, move.move));
      moved = true;
    }
    if (moved) continue;
    stand.wait_ms(stand.rules().move_delay_ms);
    COMMENSAL_TRY(stand.send(stand.provider(), ledger::Expire{key.subject, key.accuser}));
    break;
  }
  return {};
}

}  // namespace

Result<void> argue_as_liar(Models& models, Stand& stand, const Work& work,
                           const ledger::CaseKey& key) {
  const auto& graph = models.digits_graph();
  COMMENSAL_ASSIGN(const auto inputs, receipt::order_inputs(*graph, work.inputs));
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
    const dispute::Lie lie{.node = place,
                           .element = static_cast<std::int64_t>(stand.rng().next_u64() >> 1)};
    const Rerun bent = dispute::lying(*graph, lie, honest);
    auto prepared = Player::prepare(hand(Side::kChallenger, stand.auditor(), bent), threads);
    if (!prepared) return tl::unexpected(prepared.error());
    liar.emplace(*std::move(prepared));
  }
  return play(stand, key, provider, *liar);
}

}  // namespace commensal::attack
