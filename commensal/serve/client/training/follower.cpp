// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/client/ask_again.hpp>
#include <commensal/serve/client/training/follower.hpp>
#include <utility>

namespace commensal::training {

using client::RolloutInfo;
using core::Result;

Result<RolloutInfo> Follower::follow(const Rollout& rollout) {
  begin(rollout);
  RolloutInfo info = rollout.info;
  for (;;) {
    while (chain_.last().taken < info.trusted_steps && !context_.is_stopped()) {
      COMMENSAL_ASSIGN(const bool is_right, take(rollout, info));
      if (!is_right) return info;
    }
    if (context_.is_stopped()) return info;
    if (info.is_over()) {
      COMMENSAL_TRY(end(rollout, info));
      return info;
    }
    if (info.state == "running") context_.tell_waiting(info.reason);
    context_.under_way.try_again();
    const auto ask = [&] {
      return context_.outside.gateway.rollout(info.id, info.steps_done, kNewsMs);
    };
    COMMENSAL_ASSIGN(auto news,
                     client::ask_again(context_.outside.clock, kAwayMsMax, ask, context_.stop));
    info = believed(std::move(news), context_.audits_all);
    note(info);
  }
}

void Follower::begin(const Rollout& rollout) {
  chain_.go_on_in(rollout, each_);
  context_.tally.has_begun = true;
  provider_ = rollout.info.provider;
  made_here_last_ = 0;
  observer_.told_rollout(rollout.info.id, provider_);
}

/// Who refuses the first step gives way to another, under the same id.
void Follower::note(const RolloutInfo& info) {
  context_.under_way.heard(info);
  chain_.last().info = info;
  if (info.provider == provider_) return;
  provider_ = info.provider;
  observer_.told_rollout(info.id, provider_);
}

/// What is not trusted goes; what it cost is gone.
Result<void> Follower::end(const Rollout& rollout, const RolloutInfo& info) {
  const std::uint64_t taken = chain_.last().taken;
  if (taken > 0) chain_.confirm();
  const bool is_whole = info.trusted_steps == taken && taken == info.steps;
  if (info.state == "finished" && info.mismatches.empty() && is_whole) return {};
  const bool goes_back = info.trusted_steps < taken;
  if (goes_back) COMMENSAL_TRY(chain_.go_back(chain_.last()));
  const bool is_no_news = rollout.was_over && info.trusted_steps == 0;
  if (goes_back || (!is_no_news && info.state != "cancelled")) {
    observer_.told_end(trainer_.done(), info.provider,
                       goes_back ? why_fallen(info) : why_ended(info));
  }
  // Whoever made it could not have come further, if that is so.
  const bool is_one_left = trainer_.plan().steps - trainer_.done() >= each_;
  if (info.state != "failed" || info.reason_code != client::kNotFinite || !is_one_left) return {};
  return make_here(info, info.reason);
}

/// Returns false where it was made here instead.
Result<bool> Follower::take(const Rollout& rollout, const RolloutInfo& info) {
  Link& link = chain_.last();
  // A step is delivered: from now on its provider stays.
  if (!link.steps) link.steps = steps_of(context_, model_, info, rollout.inputs);
  const std::int64_t before = trainer_.done();
  const std::uint64_t segment = link.taken + 1;
  COMMENSAL_ASSIGN(const auto outputs, link.steps->outputs(segment));
  if (!train::take_segment(trainer_, outputs, link.end_of(segment))) {
    context_.under_way.cancel(info.id);  // all that follows rests on it
    COMMENSAL_TRY(make_here(info, "what came is not finite, or counts other steps"));
    return false;
  }
  link.taken = segment;
  const bool is_new = segment > rollout.made_before;
  if (is_new) ++context_.tally.paid;
  chain_.confirm();
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
  chain_.add_here(first - 1, each_);
  observer_.told_made_here(first, trainer_.done(), info.provider, why);
  return {};
}

}  // namespace commensal::training
