// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/attack/lying_player.hpp>
#include <commensal/verify/dispute/contest.hpp>

namespace commensal::attack {

using arbiter::Referee;
using arbiter::Side;
using dispute::Hand;
using dispute::Player;
using dispute::Rerun;

Result<arbiter::Outcome> dispute_with_liar(Models& models, Stand& stand, const Work& work) {
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
  core::ManualClock clock;
  arbiter::Setup setup;
  setup.receipt = work.receipt;
  setup.input_root = receipt::state_root(work.inputs);
  setup.input_salt = work.input_salt;
  setup.output_salt = work.output_salt;
  setup.challenger = stand.auditor().address;
  COMMENSAL_ASSIGN(auto referee, Referee::open(std::move(setup), clock));
  dispute::play(referee, clock, provider, *liar);
  if (referee.outcome()) return *referee.outcome();
  return core::fail(core::ErrorCode::kInternal, "a dispute did not end");
}

}  // namespace commensal::attack
