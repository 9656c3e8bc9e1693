// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/follower.hpp>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::Result;

Result<RolloutInfo> Follower::follow(const Rollout& rollout) {
  const train::Checkpoint before = trainer_.checkpoint();
  RolloutInfo info = rollout.info;
  auto taken = static_cast<std::uint64_t>((trainer_.done() - rollout.began) / each_);
  begin(rollout);
  if (taken > 0) {
    COMMENSAL_ASSIGN(const bool is_ours_too, is_ours(taken));
    if (!is_ours_too) return info;
  }
  for (;;) {
    while (taken < info.trusted_steps && !context_.is_stopped()) {
      COMMENSAL_ASSIGN(const bool is_right, take(rollout, info, taken + 1));
      if (!is_right) count(info, taken);
      if (!is_right) return info;
      ++taken;
    }
    if (context_.is_stopped()) return info;
    if (info.is_over()) return end(rollout, std::move(info), before, taken);
    if (info.state == "running") context_.tell_waiting(info.reason);
    const auto ask = [&] {
      return context_.outside.gateway.rollout(info.id, info.steps_done, kNewsMs);
    };
    COMMENSAL_ASSIGN(auto news,
                     client::ask_again(context_.outside.clock, kAwayMsMax, ask, context_.stop));
    info = believed(std::move(news), context_.audits_all);
    note_provider(info);
  }
}

void Follower::begin(const Rollout& rollout) {
  const RolloutInfo& info = rollout.info;
  // Called where a step is delivered: from then on its provider stays.
  const auto open = [this, inputs = rollout.inputs](const rollout::JobRecord& record) {
    return rollout::SignedSteps::open(record, provider_, model_.graph(), model_.roots(), inputs);
  };
  const Outside& outside = context_.outside;
  steps_.emplace(outside.gateway, outside.clock, info.id, open, kAwayMsMax, context_.stop);
  running_ = info.id;
  context_.tally.has_begun = true;
  provider_ = info.provider;
  made_here_last_ = 0;
  observer_.told_rollout(info.id, provider_);
}

void Follower::cancel() {
  if (!running_) return;
  const core::Digest rollout = *std::exchange(running_, std::nullopt);
  const auto cancelled = context_.outside.gateway.cancel_rollout(rollout);
  if (!cancelled) observer_.told_goes_on(rollout, cancelled.error().message);
}

/// Whether it goes on from where the trainer is. After a segment that was made here in the place of
/// what it delivered, it need not.
Result<bool> Follower::is_ours(std::uint64_t taken) {
  COMMENSAL_ASSIGN(const auto outputs, steps_->outputs(taken));
  if (train::is_at_end_of(trainer_, outputs)) return true;
  cancel();
  observer_.told_end(trainer_.done(), provider_,
                     fmt::format("what it made of step {} is another state", trainer_.done()));
  return false;
}

/// Who refuses the first step gives way to another, under the same id.
void Follower::note_provider(const RolloutInfo& info) {
  if (info.provider == provider_) return;
  provider_ = info.provider;
  observer_.told_rollout(info.id, provider_);
}

Result<RolloutInfo> Follower::end(const Rollout& rollout, RolloutInfo info,
                                  const train::Checkpoint& before, std::uint64_t taken) {
  running_.reset();
  count(info, info.trusted_steps);
  if (trainer_.done() != before.step) confirm(rollout, info);
  const bool is_whole = info.trusted_steps == taken && taken == info.steps;
  if (info.state == "finished" && info.mismatches.empty() && is_whole) return info;
  COMMENSAL_TRY(go_back(rollout, info, before, taken));
  // Whoever made it could not have come further, if that is so.
  const bool is_one_left = trainer_.plan().steps - trainer_.done() >= each_;
  if (info.state == "failed" && info.reason_code == client::kNotFinite && is_one_left)
    COMMENSAL_TRY(make_here(info, info.reason));
  return info;
}

void Follower::count(const RolloutInfo& info, std::uint64_t taken) {
  context_.tally.end.segments += taken;
  context_.tally.end.audited += std::min(info.audits_matched, taken);
}

/// What is not trusted goes; what it cost is gone.
Result<void> Follower::go_back(const Rollout& rollout, const RolloutInfo& info,
                               const train::Checkpoint& before, std::uint64_t taken) {
  if (info.trusted_steps < taken) {
    if (info.trusted_steps > 0) {
      COMMENSAL_ASSIGN(const auto outputs, steps_->outputs(info.trusted_steps));
      COMMENSAL_TRY(train::take_segment(trainer_, outputs, end_of(rollout, info.trusted_steps)));
    } else if (before.step == rollout.began) {
      COMMENSAL_TRY(trainer_.take(before));
    } else {
      return rests_on(trainer_, info.provider);
    }
    observer_.went_back(trainer_);
    COMMENSAL_TRY(trainer_.save());
  }
  const bool is_no_news = rollout.was_over && info.trusted_steps == 0;
  if (is_no_news || info.state == "cancelled") return {};
  observer_.told_end(trainer_.done(), info.provider, why_ended(info));
  return {};
}

/// What audits have confirmed of it is, if all before it is.
void Follower::confirm(const Rollout& rollout, const RolloutInfo& info) {
  if (trainer_.checkpoint().confirmed >= rollout.began)
    trainer_.confirm(end_of(rollout, info.confirmed_steps));
}

/// Returns false where it was made here instead.
Result<bool> Follower::take(const Rollout& rollout, const RolloutInfo& info, std::uint64_t step) {
  const std::int64_t before = trainer_.done();
  COMMENSAL_ASSIGN(const auto outputs, steps_->outputs(step));
  if (!train::take_segment(trainer_, outputs, end_of(rollout, step))) {
    cancel();  // all that follows rests on it
    COMMENSAL_TRY(make_here(info, "what came is not finite, or counts other steps"));
    return false;
  }
  const bool is_new = step > rollout.made_before;
  if (is_new) ++context_.tally.paid;
  confirm(rollout, info);
  COMMENSAL_TRY(trainer_.keep_up(before));
  COMMENSAL_TRY(observer_.shown(trainer_, made_by(info.provider, is_new)));
  return true;
}

Made Follower::made_by(const crypto::Address& provider, bool is_new) const {
  Made made{.provider = provider};
  if (price_ <= 0) return made;
  made.is_paid_before = !is_new;
  made.cost = price_ * static_cast<double>(context_.tally.paid);
  return made;
}

/// A segment of which somebody says, or shows, what is hard to believe: where it is true, it is
/// the training's own fault, and this fails as it does without a gateway.
Result<void> Follower::make_here(const RolloutInfo& info, const std::string& why) {
  const std::int64_t first = trainer_.done() + 1;
  const train::Checkpoint before = trainer_.checkpoint();
  while (trainer_.done() < first - 1 + each_ && !context_.is_stopped()) {
    COMMENSAL_TRY(trainer_.step());
    COMMENSAL_TRY(observer_.shown(trainer_, {.is_here = true}));
  }
  if (trainer_.done() < first - 1 + each_) {  // the rest would be no whole segments
    COMMENSAL_TRY(trainer_.take(before));
    observer_.went_back(trainer_);
    return trainer_.save();
  }
  COMMENSAL_TRY(trainer_.save());
  made_here_ += each_;
  made_here_last_ = each_;
  context_.tally.here = trainer_.done();
  ++context_.tally.end.segments;
  ++context_.tally.end.audited;
  observer_.told_made_here(first, trainer_.done(), info.provider, why);
  return {};
}

}  // namespace commensal::training
