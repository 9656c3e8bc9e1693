// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/provider/live_jobs.hpp>
#include <commensal/trade/pay/ticket/undecided.hpp>

namespace commensal::provider {

using core::ErrorCode;
using core::fail;
using core::Result;

LiveJobPtr LiveJobs::find(const core::Digest& job) const {
  const auto found = live_.find(job);
  return found == live_.end() ? nullptr : found->second;
}

Result<LiveJobPtr> LiveJobs::at_hand(const core::Digest& job) {
  if (LiveJobPtr live = find(job)) return live;
  if (!is_known(job)) {
    return fail(ErrorCode::kNotFound, "the job is not at hand, and was never begun");
  }
  COMMENSAL_TRY(make_room());
  return load(job);
}

bool LiveJobs::is_known(const core::Digest& job) {
  const auto is_there = rollout::JobRows(deps_.store, job).is_there();
  return is_there && *is_there;
}

void LiveJobs::drop(const core::Digest& job) {
  const auto found = live_.find(job);
  if (found == live_.end()) return;
  kept_ -= found->second->is_kept() ? 1 : 0;
  live_.erase(found);
}

std::vector<LiveJobPtr> LiveJobs::drop_fleeting() {
  std::vector<LiveJobPtr> gone;
  for (const auto& [id, live] : live_) {
    if (!live->is_kept()) gone.push_back(live);
  }
  for (const LiveJobPtr& live : gone) drop(live->id);
  return gone;
}

Result<void> LiveJobs::make_room() {
  if (kept_ < limits::kRolloutsLiveMax) return {};
  auto oldest = live_.end();
  for (auto item = live_.begin(); item != live_.end(); ++item) {
    if (item->second->is_busy() || !item->second->is_kept()) continue;
    if (oldest == live_.end() || item->second->used < oldest->second->used) oldest = item;
  }
  if (oldest == live_.end()) {
    return fail(ErrorCode::kUnavailable, "{} rollouts are at work, no more at a time", kept_);
  }
  drop(oldest->second->id);
  return {};
}

bool LiveJobs::is_finished(const core::Digest& job) {
  rollout::JobRows rows(deps_.store, job);
  const auto step = rows.last();
  if (!step || *step == 0) return false;
  const auto agreed = rows.rollout();
  const auto record = rows.step(*step);
  return agreed && record && *step == agreed->job.steps &&
         record->step.phase() != receipt::StepPhase::kCommitted;
}

Result<rollout::KeptBytes*> LiveJobs::kept_bytes() {
  if (kept_bytes_) return &*kept_bytes_;
  COMMENSAL_ASSIGN(const auto rollouts, rollout::rollouts_by_age(deps_.store));
  rollout::KeptBytes kept;
  for (const core::Digest& job : rollouts) {
    COMMENSAL_ASSIGN(const auto bytes, rollout::JobRows(deps_.store, job).bytes());
    kept.note(job, "", bytes.all);
  }
  return &kept_bytes_.emplace(std::move(kept));
}

Result<void> LiveJobs::note_bytes(const core::Digest& job) {
  COMMENSAL_ASSIGN(rollout::KeptBytes* const kept, kept_bytes());
  COMMENSAL_ASSIGN(const auto bytes, rollout::JobRows(deps_.store, job).bytes());
  kept->note(job, "", bytes.all);
  return {};
}

Result<void> LiveJobs::make_room_in_store(std::size_t more, std::uint64_t bytes) {
  COMMENSAL_ASSIGN(rollout::KeptBytes* const kept, kept_bytes());
  std::optional<std::set<core::Digest>> undecided;  // looked for at the bound only
  const auto may_go = [&](const core::Digest& job) {
    if (!undecided) undecided = ticket::undecided_jobs(deps_.purse.tickets());
    const LiveJobPtr live = find(job);
    return !undecided->contains(job) && (live == nullptr || !live->is_busy());
  };
  const auto make_room = [&](const std::function<bool(const core::Digest&)>& is_over) {
    rollout::Retention retention{
        .kept_max = deps_.kept_max,
        .bytes_less = rollout::excess(kept->all(), bytes, deps_.kept_bytes_max),
        .may_go = [&](const core::Digest& job) { return may_go(job) && is_over(job); }};
    retention.gone = [&](const core::Digest& job) {
      drop(job);
      at_work_.erase(job);
      kept->forget(job);
    };
    return rollout::make_room(deps_.store, more, retention);
  };
  auto made = make_room([&](const core::Digest& job) { return is_finished(job); });
  if (!made && made.error().code == ErrorCode::kResourceExhausted)
    made = make_room([&](const core::Digest& job) { return find(job) == nullptr; });
  return made;
}

rollout::ProviderJob::Dependencies LiveJobs::job_deps(bool is_kept) const {
  return {deps_.rng, deps_.key, is_kept ? &deps_.store : nullptr};
}

LiveJobPtr LiveJobs::add(rollout::ProviderJob job) {
  const auto live = std::make_shared<LiveJob>();
  live->id = job.job_id();
  live->job = std::make_shared<rollout::ProviderJob>(std::move(job));
  live->used = ++uses_;
  kept_ += live->is_kept() ? 1 : 0;
  live_.emplace(live->id, live);
  return live;
}

Result<LiveJobPtr> LiveJobs::load(const core::Digest& job) {
  COMMENSAL_ASSIGN(auto loaded, rollout::ProviderJob::load(job_deps(true), job));
  const LiveJobPtr live = add(std::move(loaded));
  if (!at_work_.contains(job)) live->excused = live->job->last().step.index();
  return live;
}

Result<LiveJobPtr> LiveJobs::take_up(rollout::JobRecord record) {
  const bool is_kept = record.job.traits().is_kept;
  if (!is_kept) return add({job_deps(false), std::move(record)});
  const core::Digest id = protocol::job_id(record.job);
  COMMENSAL_ASSIGN(const bool is_known, rollout::JobRows(deps_.store, id).is_there());
  if (!is_known) {
    const auto unwritten = std::ranges::count_if(live_, [](const auto& item) {
      return item.second->is_kept() && !item.second->job->is_stored();
    });
    COMMENSAL_TRY(make_room_in_store(1 + static_cast<std::size_t>(unwritten),
                                     2 * rollout::bytes_of(record.inputs)));  // a state is as large
  }
  COMMENSAL_TRY(make_room());
  if (is_known) return load(id);
  return add({job_deps(true), std::move(record)});
}

Result<std::optional<receipt::Commit>> LiveJobs::asked(LiveJob& live, const receipt::Begin& begin) {
  live.used = ++uses_;
  COMMENSAL_ASSIGN(const auto made, live.job->asked(begin));
  if (!made && live.job->is_stored()) {
    COMMENSAL_TRY(make_room_in_store(0, rollout::bytes_of(live.job->last().outputs)));
  }
  if (!made) return std::nullopt;
  const std::uint64_t next = deps_.purse.round_for(live.job->job());
  const bool is_late = made->round != protocol::kNoDraw && made->round + 2 <= next;
  if (!is_late) return made;
  receipt::Commit again;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(note_late(live));
    COMMENSAL_ASSIGN(again, live.job->sign_again(protocol::kNoDraw));
    return {};
  }));
  return again;
}

Result<void> LiveJobs::note_late(const LiveJob& live) {
  const std::uint64_t step = live.job->last().step.index();
  if (step == live.excused) return {};
  const auto noted = late_.add(deps_.purse.gateway(), limits::kLateStepsMax + kept_);
  return noted ? noted : core::in_context(fmt::format("step {}", step), noted.error());
}

Result<std::vector<receipt::Commit>> LiveJobs::commit(std::span<const LiveJobPtr> jobs) {
  std::vector<protocol::ReceiptBody> bodies;
  for (const LiveJobPtr& live : jobs) {
    bodies.push_back(live->job->body(deps_.purse.round_for(live->job->job())));
  }
  const auto signatures = protocol::sign_batch(deps_.key, protocol::Role::kProvider, bodies);
  std::vector<ticket::NewTicket> tickets;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const rollout::ProviderJob& job = *jobs[i]->job;
    const protocol::ReceiptBody& body = bodies[i];
    tickets.push_back({{job.job(), body.step, body.commitment, body.round, signatures[i], {}},
                       job.held_root(),
                       job.held_salt()});
  }
  std::vector<receipt::Commit> made;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(deps_.purse.commit(tickets));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      COMMENSAL_ASSIGN(made.emplace_back(), jobs[i]->job->commit(bodies[i].round, signatures[i]));
      if (!jobs[i]->is_kept()) continue;
      at_work_.insert(jobs[i]->id);
      COMMENSAL_TRY(rollout::JobRows(deps_.store, jobs[i]->id).drop_before_last());
      COMMENSAL_TRY(note_bytes(jobs[i]->id));
    }
    return {};
  }));
  return made;
}

std::optional<bool> LiveJobs::is_in_time(const LiveJob& live,
                                         const receipt::Countersign& message) const {
  const receipt::Step& step = live.job->last().step;
  const bool is_first = step.phase() == receipt::StepPhase::kCommitted &&
                        message.step == step.index() && step.receipt().round != protocol::kNoDraw;
  if (!is_first) return std::nullopt;
  const ticket::Record* const ticket = deps_.purse.tickets().find(protocol::ticket_id(step.body()));
  return ticket != nullptr && ticket->state == ticket::State::kCommitted;
}

/// A signature that comes after its round was drawn: the ticket is void, and the step is late.
Result<LiveJobs::Deliveries> LiveJobs::countersign(std::span<const LiveJobPtr> jobs,
                                                   std::span<const receipt::Countersign> messages) {
  Deliveries made;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    std::vector<protocol::Receipt> in_time;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      LiveJob& live = *jobs[i];
      live.used = ++uses_;
      const auto counts = is_in_time(live, messages[i]);
      const auto noted = counts && !*counts ? note_late(live) : Result<void>();
      made.push_back(noted ? live.job->countersign(messages[i], &known_)
                           : tl::unexpected(noted.error()));
      if (made.back() && counts && *counts) in_time.push_back(live.job->last().step.receipt());
    }
    COMMENSAL_TRY(deps_.purse.countersign(in_time));
    return late_.in_time(deps_.purse.gateway(), in_time.size());
  }));
  return made;
}

}  // namespace commensal::provider
