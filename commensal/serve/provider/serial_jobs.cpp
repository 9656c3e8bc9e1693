// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_rollouts.hpp>
#include <commensal/serve/provider/serial_jobs.hpp>
#include <commensal/trade/pay/ticket/undecided.hpp>
#include <commensal/verify/rollout/retention.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;

SerialJobs::LivePtr SerialJobs::find(const core::Digest& job) const {
  const auto found = live_.find(job);
  return found == live_.end() ? nullptr : found->second;
}

Result<SerialJobs::LivePtr> SerialJobs::at_hand(const core::Digest& job) {
  LivePtr live = find(job);
  if (!live) return fail(ErrorCode::kUnavailable, "the rollout is not at hand: start it");
  if (live->is_busy) return fail(ErrorCode::kUnavailable, "the rollout is at work");
  live->used = ++uses_;
  return live;
}

bool SerialJobs::is_known(const core::Digest& job) {
  const auto is_there = rollout::RolloutRows(deps_.store, job).is_there();
  return is_there && *is_there;
}

Result<void> SerialJobs::make_room() {
  if (live_.size() < limits::kRolloutsLiveMax) return {};
  auto oldest = live_.end();
  for (auto item = live_.begin(); item != live_.end(); ++item) {
    if (item->second->is_busy) continue;
    if (oldest == live_.end() || item->second->used < oldest->second->used) oldest = item;
  }
  if (oldest == live_.end()) {
    return fail(ErrorCode::kUnavailable, "{} rollouts are at work, no more at a time",
                live_.size());
  }
  live_.erase(oldest);
  return {};
}

bool SerialJobs::is_finished(const core::Digest& job) {
  rollout::RolloutRows rows(deps_.store, job);
  const auto step = rows.last();
  if (!step || *step == 0) return false;
  const auto agreed = rows.rollout();
  const auto record = rows.step(*step);
  return agreed && record && *step == agreed->job.steps &&
         record->step.phase() != receipt::StepPhase::kCommitted;
}

Result<void> SerialJobs::make_room_in_store() {
  const auto is_new = [](const auto& item) { return item.second->is_new; };
  const auto more = 1 + static_cast<std::size_t>(std::ranges::count_if(live_, is_new));
  std::optional<std::set<core::Digest>> undecided;  // looked for at the bound only
  const auto may_go = [&](const core::Digest& job) {
    if (!undecided) undecided = ticket::undecided_jobs(deps_.purse.tickets());
    const LivePtr live = find(job);
    return !undecided->contains(job) && (live == nullptr || !live->is_busy);
  };
  auto gone = rollout::make_room(
      deps_.store, more,
      {deps_.kept_max, [&](const auto& job) { return may_go(job) && is_finished(job); }, {}});
  if (!gone && gone.error().code == ErrorCode::kResourceExhausted) {
    gone = rollout::make_room(
        deps_.store, more,
        {deps_.kept_max, [&](const auto& job) { return may_go(job) && !find(job); }, {}});
  }
  COMMENSAL_TRY(gone);
  for (const core::Digest& job : *gone) {
    live_.erase(job);
    at_work_.erase(job);
  }
  return {};
}

Result<SerialJobs::LivePtr> SerialJobs::take_up(const core::Digest& job) {
  COMMENSAL_ASSIGN(const bool is_known, rollout::RolloutRows(deps_.store, job).is_there());
  if (!is_known) COMMENSAL_TRY(make_room_in_store());
  COMMENSAL_TRY(make_room());
  const auto live = std::make_shared<Live>();
  live->id = job;
  live->is_new = !is_known;
  live->used = ++uses_;
  live_.emplace(job, live);
  return live;
}

void SerialJobs::drop(const core::Digest& job) { live_.erase(job); }

Result<void> SerialJobs::begin(Live& live, const rpc::Offer& offer,
                               std::shared_ptr<rollout::Engine> engine) {
  live.engine = std::move(engine);
  const rollout::RolloutProvider::Dependencies deps{deps_.store, deps_.rng, deps_.key,
                                                    *live.engine};
  if (!live.is_new) {
    COMMENSAL_ASSIGN(auto loaded, rollout::RolloutProvider::load(deps, live.id));
    live.provider.emplace(std::move(loaded));
    if (!at_work_.contains(live.id)) live.excused = live.provider->last().step.index();
    return {};
  }
  COMMENSAL_ASSIGN(auto started, rollout::RolloutProvider::start(
                                     deps, {offer.job, offer.input_salt, offer.inputs}));
  live.provider.emplace(std::move(started));
  live.is_new = false;
  return {};
}

Result<std::optional<receipt::Commit>> SerialJobs::asked(Live& live, const receipt::Begin& begin) {
  COMMENSAL_ASSIGN(const auto made, live.provider->asked(begin));
  if (!made) return std::nullopt;
  const std::uint64_t next = deps_.purse.round_for(live.provider->job());
  const bool is_late = made->round != protocol::kNoDraw && made->round + 2 <= next;
  if (!is_late) return made;
  receipt::Commit again;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(note_late(live));
    COMMENSAL_ASSIGN(again, live.provider->sign_again(protocol::kNoDraw));
    return {};
  }));
  return again;
}

Result<void> SerialJobs::note_late(const Live& live) {
  const std::uint64_t step = live.provider->last().step.index();
  if (step == live.excused) return {};
  const auto noted = late_.add(deps_.purse.gateway(), limits::kLateStepsMax + live_.size());
  return noted ? noted : core::in_context(fmt::format("step {}", step), noted.error());
}

Result<receipt::Commit> SerialJobs::commit(Live& live, const receipt::Begin& begin,
                                           receipt::Values outputs) {
  receipt::Commit made;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    rollout::RolloutProvider& provider = *live.provider;
    at_work_.insert(live.id);
    COMMENSAL_ASSIGN(
        made, provider.commit(begin, deps_.purse.round_for(provider.job()), std::move(outputs)));
    const ticket::NewTicket ticket{provider.last().step.receipt(),
                                   receipt::state_root(provider.last().outputs),
                                   provider.last().output_salt};
    return deps_.purse.commit({&ticket, 1});
  }));
  return made;
}

/// A signature that comes after its round was drawn: the ticket is void, and the step is late.
Result<receipt::Deliver> SerialJobs::take_signature(Live& live,
                                                    const receipt::Countersign& message) {
  const receipt::Step& step = live.provider->last().step;
  const bool is_first = step.phase() == receipt::StepPhase::kCommitted &&
                        message.step == step.index() && step.receipt().round != protocol::kNoDraw;
  const ticket::Record* const ticket =
      is_first ? deps_.purse.tickets().find(protocol::ticket_id(step.body())) : nullptr;
  const bool counts = ticket != nullptr && ticket->state == ticket::State::kCommitted;
  if (is_first && !counts) COMMENSAL_TRY(note_late(live));
  COMMENSAL_ASSIGN(receipt::Deliver made, live.provider->countersign(message));
  if (!counts) return made;
  const protocol::Receipt receipt = live.provider->last().step.receipt();
  COMMENSAL_TRY(deps_.purse.countersign({&receipt, 1}));
  COMMENSAL_TRY(late_.in_time(deps_.purse.gateway()));
  return made;
}

Result<receipt::Deliver> SerialJobs::countersign(Live& live, const receipt::Countersign& message) {
  receipt::Deliver made;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_ASSIGN(made, take_signature(live, message));
    return {};
  }));
  return made;
}

}  // namespace commensal::provider
