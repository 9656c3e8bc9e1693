// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/follower.hpp>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::ErrorCode;
using core::Result;

namespace {

/// All whole segments of one model: one rollout after another, until they are made.
class Pass {
 public:
  Pass(Context& context, const SegmentModel& model)
      : context_(context),
        trainer_(context.outside.trainer),
        gateway_(context.outside.gateway),
        model_(model),
        follower_(context, model, gateway_.price()) {}

  Result<void> run() {
    const auto made = make_all();
    follower_.cancel();  // whatever ended it
    return made;
  }

 private:
  bool is_done() const {
    return trainer_.plan().steps - trainer_.done() < model_.segment().each || context_.is_stopped();
  }

  Result<void> make_all() {
    COMMENSAL_ASSIGN(std::optional<Rollout> next, begun());
    int vain = 0;
    for (int attempt = 0; !is_done(); ++attempt) {
      const std::int64_t before = trainer_.done() - follower_.made_here();
      if (!next) {
        COMMENSAL_ASSIGN(next, start(attempt));
      }
      const Rollout rollout = *std::exchange(next, std::nullopt);
      COMMENSAL_ASSIGN(const RolloutInfo info, follower_.follow(rollout));
      // Steps that are made here for somebody's word alone are nothing that the rollout brings.
      const std::int64_t after = trainer_.done() - follower_.made_here();
      if (after != before) attempt = -1;
      // What failed in an earlier run is no failure of this one.
      const bool is_vain = after == before && info.state != "caught";
      vain = is_vain ? vain + (rollout.was_over ? 0 : 1) : 0;
      if (vain >= kVainMax && !is_done()) {
        return core::fail(ErrorCode::kFailedPrecondition, "step {} was not made: {}",
                          first_not_made(), why_ended(info));
      }
    }
    return {};
  }

  /// By the last rollout.
  std::int64_t first_not_made() const { return trainer_.done() - follower_.made_here_last() + 1; }

  Result<std::optional<Rollout>> begun() {
    if (trainer_.done() == 0) return std::optional<Rollout>();
    COMMENSAL_ASSIGN(std::vector<RolloutInfo> list, gateway_.rollouts(key_prefix(model_)));
    return find_begun(std::move(list), trainer_, model_, context_.audits_all);
  }

  Result<Rollout> start(int attempt) {
    const client::RolloutOrder order = model_.order(trainer_, attempt);
    const auto ask = [&] {
      auto started = gateway_.start_rollout(order);
      if (!started) context_.tell_waiting(started.error().message);
      return started;
    };
    COMMENSAL_ASSIGN(auto info,
                     client::ask_again(context_.outside.clock, kAwayMsMax, ask, context_.stop));
    const bool was_over = info.is_over();
    return Rollout{believed(std::move(info), context_.audits_all), trainer_.done(), order.inputs,
                   was_over};
  }

  Context& context_;
  train::Trainer& trainer_;
  Gateway& gateway_;
  const SegmentModel& model_;
  Follower follower_;
};

Result<void> go_to_end(Context& context, const Terms& terms, SegmentModel first) {
  train::Trainer& trainer = context.outside.trainer;
  if (trainer.done() == 0) COMMENSAL_TRY(trainer.evaluate());
  COMMENSAL_TRY(context.outside.observer.shown(trainer));
  std::optional<SegmentModel> model = std::move(first);
  while (trainer.done() < trainer.plan().steps && !context.is_stopped()) {
    if (!model) {  // what whole segments leave over
      COMMENSAL_ASSIGN(model, SegmentModel::push(trainer, context.outside.gateway, terms));
    }
    const SegmentModel present = *std::exchange(model, std::nullopt);
    COMMENSAL_TRY(Pass(context, present).run());
  }
  return {};
}

/// Where `stop` has ended it before the last step.
tl::unexpected<core::Error> stopped(const train::Trainer& trainer, const Tally& tally) {
  if (!tally.has_begun) {
    return core::fail(ErrorCode::kCancelled,
                      "stopped before step {} of {}: no rollout has begun, nothing {} made{}",
                      trainer.done() + 1, trainer.plan().steps,
                      trainer.done() > 0 ? "new was" : "was", trainer.done() > 0 ? "" : " yet");
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
  const auto end = go_to_end(context, terms, std::move(first));
  const train::Trainer& trainer = outside.trainer;
  if (stop.stop_requested() && trainer.done() < trainer.plan().steps)
    return stopped(trainer, context.tally);
  COMMENSAL_TRY(end);
  return context.tally.end;
}

}  // namespace commensal::training
