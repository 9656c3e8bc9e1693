// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/serial/adjudicate.hpp>
#include <commensal/verify/arbiter/parting.hpp>
#include <commensal/verify/dispute/player.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::serial {
namespace {

using arbiter::Referee;
using arbiter::Side;
using core::ErrorCode;
using core::Result;

/// What F was given, noise included.
Result<receipt::Values> given(const Quarrel& quarrel) {
  const receipt::StepTask& task = quarrel.shown.task;
  COMMENSAL_ASSIGN(auto inputs, receipt::task_inputs(task, quarrel.by_auditor.graph()));
  const auto noise =
      receipt::noise_of_step(task.job, protocol::job_id(task.job), task.step, task.value);
  return noise ? quarrel.by_auditor.disturbed(inputs, *noise) : inputs;
}

Result<Referee> opened(const Quarrel& quarrel, const core::Clock& clock) {
  arbiter::Setup setup;
  setup.receipt = quarrel.receipt;
  COMMENSAL_ASSIGN(setup.input_root, receipt::input_root_of(quarrel.shown.task));
  if (arbiter::has_fixed_input(setup.receipt.job)) setup.input_salt = quarrel.shown.task.input_salt;
  setup.output_salt = quarrel.shown.output_salt;
  setup.challenger = quarrel.auditor.address();
  return Referee::open(std::move(setup), clock);
}

/// `graph` is the one whose nodes the run shows; it must outlive the player.
Result<dispute::Player> player(const dispute::Hand& common, Side side, const crypto::SecretKey& key,
                               const graph::Graph& graph, dispute::Rerun rerun,
                               kernels::ThreadPool& threads) {
  dispute::Hand hand = common;
  hand.side = side;
  hand.key = &key;
  hand.graph = std::shared_ptr<const graph::Graph>(std::shared_ptr<void>(), &graph);
  hand.rerun = std::move(rerun);
  return dispute::Player::prepare(std::move(hand), threads);
}

Result<Ruling> rule(const Quarrel& quarrel) {
  core::ManualClock clock;
  COMMENSAL_ASSIGN(Referee referee, opened(quarrel, clock));
  dispute::Hand common;
  COMMENSAL_ASSIGN(common.inputs, given(quarrel));
  const graph::Graph& graph = quarrel.by_auditor.graph();
  common.model = std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(graph));
  kernels::ThreadPool threads(1);
  const std::uint64_t step = quarrel.shown.task.step;
  const receipt::Values inputs = common.inputs;
  const dispute::Rerun lying = [&](graph::Tracer& tracer, core::Pacer*) {
    return quarrel.by_provider.run(step, inputs, std::nullopt, {.tracer = &tracer});
  };
  COMMENSAL_ASSIGN(auto provider, player(common, Side::kProvider, quarrel.provider,
                                         quarrel.by_provider.graph_of(step), lying, threads));
  COMMENSAL_ASSIGN(auto auditor,
                   player(common, Side::kChallenger, quarrel.auditor, graph,
                          dispute::rerun_on(quarrel.by_auditor.session(), inputs), threads));
  // Whose moves are refused (its second run was not what it had signed) runs out of time.
  dispute::play(referee, clock, provider, auditor);
  if (!referee.outcome()) return core::fail(ErrorCode::kInternal, "a dispute without an end");
  Ruling made{*referee.outcome(), {}};
  if (made.outcome.ending == arbiter::Ending::kProved) made.file = protocol::encode(referee.file());
  return made;
}

}  // namespace

Result<Ruling> adjudicate(const Quarrel& quarrel) {
  auto ruling = rule(quarrel);
  if (ruling || ruling.error().code != ErrorCode::kUnsupported) return ruling;
  return Ruling{{arbiter::Ending::kUndecided, {}, {}, ruling.error().message}, {}};
}

}  // namespace commensal::serial
