// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/follower.hpp>
#include <set>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::ErrorCode;
using core::Result;

namespace {

/// All whole segments of one model: one rollout after another, until they are made.
class Pass {
 public:
  Pass(Context& context, Chain& chain, const SegmentModel& model)
      : context_(context),
        trainer_(context.outside.trainer),
        gateway_(context.outside.gateway),
        chain_(chain),
        model_(model),
        follower_(context, chain, model, gateway_.price()) {}

  Result<void> run() {
    COMMENSAL_TRY(explain_checkpoint());
    int vain = 0;
    for (int attempt = 0; !is_done(); ++attempt) {
      COMMENSAL_ASSIGN(const bool went_back, chain_.look_back());
      if (went_back) {
        attempt = -1;
        continue;
      }
      const std::int64_t before = trainer_.done() - follower_.made_here();
      COMMENSAL_ASSIGN(std::optional<Rollout> rollout, find_begun());
      if (!rollout) {
        COMMENSAL_ASSIGN(rollout, start(attempt));
      }
      COMMENSAL_ASSIGN(const RolloutInfo info, follower_.follow(*rollout));
      // Steps that are made here for somebody's word alone are nothing that the rollout brings.
      const std::int64_t after = trainer_.done() - follower_.made_here();
      if (after != before) attempt = -1;
      // What failed in an earlier run is no failure of this one.
      const bool is_vain = after == before && info.state != "caught";
      vain = is_vain ? vain + (rollout->was_over ? 0 : 1) : 0;
      if (vain >= kVainMax && !is_done()) {
        return core::fail(ErrorCode::kFailedPrecondition, "step {} was not made: {}",
                          first_not_made(), why_ended(info));
      }
    }
    return {};
  }

 private:
  /// Also where it is back before its beginning, where segments may have another length.
  bool is_done() const {
    return trainer_.plan().steps - trainer_.done() < model_.segment().each ||
           trainer_.done() < began_ || context_.is_stopped();
  }

  /// By the last rollout.
  std::int64_t first_not_made() const { return trainer_.done() - follower_.made_here_last() + 1; }

  Result<void> explain_checkpoint() {
    if (trainer_.done() == 0 || !chain_.is_empty()) return {};
    COMMENSAL_ASSIGN(const std::vector<Rollout> listed, list_begun(context_, model_));
    return chain_.rebuild(model_, listed);
  }

  /// The furthest that an earlier run, or somebody else, began and that goes on from here. Each is
  /// tried once; who makes another state is cancelled.
  Result<std::optional<Rollout>> find_begun() {
    if (trainer_.done() == 0) return std::optional<Rollout>();  // keys lead on from there
    COMMENSAL_ASSIGN(std::vector<Rollout> listed, list_begun(context_, model_));
    for (Rollout& one : listed) {
      const core::Digest id = one.info.id;
      if (one.began > trainer_.done() || tried_.contains(id)) continue;
      if (is_further(one)) {
        tried_.insert(id);
        COMMENSAL_ASSIGN(const bool goes_on, goes_on_from_here(one));
        if (goes_on) return std::optional<Rollout>(std::move(one));
      }
      if (!context_.under_way.cancel(id)) continue;
      context_.outside.observer.told_end(
          trainer_.done(), one.info.provider,
          fmt::format("it does not go on from the state after step {}", trainer_.done()));
    }
    return std::optional<Rollout>();
  }

  /// Or may come further.
  bool is_further(const Rollout& one) const {
    const auto trusted = static_cast<std::int64_t>(one.info.trusted_steps);
    const std::int64_t end = one.began + trusted * model_.segment().each;
    if (end > trainer_.done() || one.info.state == "running") return true;
    return end == trainer_.done() && !one.info.is_over();
  }

  Result<bool> goes_on_from_here(Rollout& one) {
    const std::int64_t done = trainer_.done();
    if (const Link* const known = chain_.last_of(one.info.id); known != nullptr) {
      one.from = known->from;
      one.steps = known->steps;
      return true;
    }
    if (one.began < done) {
      return leads_to(context_, model_, one, done,
                      [this](const auto& made) { return train::is_at_end_of(trainer_, made); });
    }
    one.inputs = train::segment_inputs(trainer_);
    one.from = receipt::state_root(*one.inputs);
    return one.info.key.starts_with(model_.key_from(done, one.from));
  }

  Result<Rollout> start(int attempt) {
    const client::RolloutOrder order = model_.order(trainer_, attempt);
    UnderWay& under_way = context_.under_way;
    const auto ask = [&] {
      auto started = gateway_.start_rollout(order);
      if (started) return started;
      context_.tell_waiting(started.error().message);
      under_way.asked_in_vain(order.key);
      return started;
    };
    COMMENSAL_ASSIGN(auto info,
                     client::ask_again(context_.outside.clock, kAwayMsMax, ask, context_.stop));
    under_way.answered(order.key);
    under_way.heard(info);
    tried_.insert(info.id);
    return Rollout{.info = believed(std::move(info), context_.audits_all),
                   .began = trainer_.done(),
                   .from = receipt::taken_root(order.inputs),
                   .inputs = order.inputs};
  }

  Context& context_;
  train::Trainer& trainer_;
  Gateway& gateway_;
  Chain& chain_;
  const SegmentModel& model_;
  Follower follower_;
  const std::int64_t began_ = trainer_.done();
  std::set<core::Digest> tried_;  // rollouts
};

Result<void> go_to_end(Context& context, Chain& chain, const Terms& terms, SegmentModel first) {
  train::Trainer& trainer = context.outside.trainer;
  if (trainer.done() == 0) COMMENSAL_TRY(trainer.evaluate());
  COMMENSAL_TRY(context.outside.observer.shown(trainer));
  std::optional<SegmentModel> model = std::move(first);
  for (;;) {
    while (trainer.done() < trainer.plan().steps && !context.is_stopped()) {
      if (!model) {  // what whole segments leave over
        COMMENSAL_ASSIGN(model, SegmentModel::push(trainer, context.outside.gateway, terms));
      }
      const SegmentModel present = *std::exchange(model, std::nullopt);
      COMMENSAL_TRY(Pass(context, chain, present).run());
    }
    if (trainer.done() < trainer.plan().steps) return {};
    COMMENSAL_ASSIGN(const bool went_back, chain.look_back());
    if (!went_back) return {};
  }
}

/// Where `stop` has ended it before the last step; `began`: steps that were done before it.
tl::unexpected<core::Error> stopped(const train::Trainer& trainer, const Tally& tally,
                                    std::int64_t began) {
  if (trainer.done() == began) {
    return core::fail(
        ErrorCode::kCancelled, "stopped before step {} of {}: {}, nothing {} made{}", began + 1,
        trainer.plan().steps,
        tally.has_begun ? "its rollout has brought no segment" : "no rollout has begun",
        began > 0 ? "new was" : "was", began > 0 ? "" : " yet");
  }
  if (trainer.done() == tally.here) {
    const std::string file = trainer.plan().checkpoint.string();
    return core::fail(ErrorCode::kCancelled,
                      "stopped after step {} of {}, which was made here, not at the gateway: {}",
                      trainer.done(), trainer.plan().steps,
                      file.empty() ? "without a checkpoint the same command makes it again"
                                   : file + " has its state, the same command goes on from there");
  }
  return core::fail(ErrorCode::kCancelled,
                    "stopped after step {} of {}: the gateway has its state, the same command goes "
                    "on from there",
                    trainer.done(), trainer.plan().steps);
}

}  // namespace

Result<void> check_checkpoint(const train::Trainer& trainer, double audit_probability) {
  const train::Checkpoint& kept = trainer.checkpoint();
  if (audit_probability < 1 || kept.confirmed >= kept.step) return {};
  return core::fail(ErrorCode::kFailedPrecondition,
                    "{}: no audit has confirmed its steps {} to {}, and all are to be: remove it, "
                    "or ask for less than --audit-probability 1",
                    trainer.plan().checkpoint.string(), kept.confirmed + 1, kept.step);
}

Result<End> run(const Outside& outside, const Terms& terms, SegmentModel first,
                const std::stop_token& stop) {
  Context context{outside, terms.audits_all(), stop};
  Chain chain(context);
  const std::int64_t began = outside.trainer.done();
  const auto end = go_to_end(context, chain, terms, std::move(first));
  context.under_way.end(outside.observer);  // whatever ended it
  const train::Trainer& trainer = outside.trainer;
  if (stop.stop_requested() && trainer.done() < trainer.plan().steps) {
    if (trainer.done() > 0) COMMENSAL_TRY(trainer.save());
    return stopped(trainer, context.tally, began);
  }
  COMMENSAL_TRY(end);
  return chain.end();
}

}  // namespace commensal::training
