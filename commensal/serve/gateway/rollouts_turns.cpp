// SPDX-License-Identifier: Apache-2.0
// Rollouts step by step: when the next one is asked for, and what follows from what became of it.
#include <algorithm>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/gateway/rollouts.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

namespace {

constexpr std::int64_t kRetryMs = 500;
/// What a provider refuses a rollout for good with.
constexpr ErrorCode kFinal[] = {ErrorCode::kInvalidArgument, ErrorCode::kFailedPrecondition,
                                ErrorCode::kUnsupported, ErrorCode::kUnauthenticated,
                                ErrorCode::kOverBudget};

/// RolloutEntry::reason_code. Where a provider refuses the step itself, its word is no more than a
/// claim; what breaks the rules otherwise (a signature, say) says nothing of the state.
std::string_view code_of(const event::StepLost& lost) {
  if (lost.work->job().states != protocol::StateRule::kFinite) return {};
  const bool is_claimed =
      lost.loss == Loss::kRefused && lost.error.code == ErrorCode::kInvalidArgument;
  return is_claimed || lost.is_state_refused ? kNotFinite : std::string_view();
}

}  // namespace

Rollouts::LivePtr Rollouts::of_job(const core::Digest& job) const {
  const RolloutEntry* const entry = book_.of_job(job);
  const auto found = entry == nullptr ? live_.end() : live_.find(entry->id);
  return found == live_.end() ? nullptr : found->second;
}

std::vector<Rollouts::LivePtr> Rollouts::rollouts_of(const crypto::Address& provider) const {
  std::vector<LivePtr> rollouts;
  for (const auto& [id, live] : live_) {
    if (live->entry.provider == provider) rollouts.push_back(live);
  }
  return rollouts;
}

void Rollouts::on_available(const crypto::Address& provider) {
  for (const LivePtr& live : rollouts_of(provider)) go_on(*live);
}

void Rollouts::on_close() {
  for (const auto& [id, live] : live_) {
    if (!live->is_asked && deps_.roster.connected(live->entry.provider) == nullptr) miss(*live);
  }
}

void Rollouts::on_banned(const crypto::Address& provider, const std::string& why) {
  for (const LivePtr& live : rollouts_of(provider)) fail(*live, RolloutState::kFailed, why);
}

void Rollouts::go_on(Live& live) {
  if (live.is_asked) return;
  ++live.turns;
  live.is_ours = false;
  Roster::Peer* const peer = deps_.roster.by_address(live.entry.provider);
  if (peer != nullptr && !peer->banned.empty()) {
    return fail(live, RolloutState::kFailed,
                fmt::format("its provider is banned: {}", peer->banned));
  }
  if (peer == nullptr || peer->stream == nullptr) return miss(live);
  if (!peer->paused.empty()) {
    live.hindrance = fmt::format("its provider pauses: {}", peer->paused);
    return;
  }
  if (!may_show(live, *peer)) return;
  live.is_ours = true;
  if (audits(live.entry.job).open.size() >= limits::kStepAuditsOpenMax) return;
  if (!live.work->client.pending()) {
    if (!deps_.lottery.is_in_time(live.work->job())) {
      return fail(live, RolloutState::kFailed,
                  "nobody could be accused of its later steps in time: go on in another rollout");
    }
    if (const auto fits = fit_next_state(live); !fits) {
      return fail(live, RolloutState::kFailed,
                  fmt::format("{}: go on in another rollout", fits.error().message));
    }
    if (const auto afforded = afford(live); !afforded) {
      live.hindrance = afforded.error().message;
      return retry_later(live);
    }
  }
  if (must_wait(live)) return;
  if (!live.work->client.pending() && must_hold(live)) return;
  live.is_ours = false;
  live.hindrance.clear();
  live.is_asked = true;
  deps_.shares.on_offer(live.entry.account, live.entry.provider, false);
  deps_.steps.ask(live.work, *peer);
}

/// Who was vouched for when it began may not be any more.
bool Rollouts::may_show(Live& live, const Roster::Peer& peer) {
  if (!live.entry.privacy_class) return true;
  if (!peer.has_shown) {  // however late: it had them when it was chosen
    live.hindrance = "its provider has not shown its statements yet";
    miss(live);
    return false;
  }
  const std::string why =
      why_not_shown(*peer.privacy, *live.entry.privacy_class, deps_.clock.wall_ms());
  if (!why.empty()) {
    refused(live, {ErrorCode::kUnavailable, fmt::format("its provider {}", why)});
  }
  return why.empty();
}

bool Rollouts::must_wait(Live& live) {
  const std::string& account = live.entry.account;
  const Shares::Asker asker{.account = account, .waiting = line_.size_of(account)};
  const std::int64_t now_ms = deps_.clock.monotonic_ns() / 1'000'000;
  deps_.shares.on_request(account, now_ms);
  if (!deps_.shares.is_full(asker, live.entry.provider, now_ms)) return false;
  live.hindrance = "its provider has enough to do for this account";
  if (!std::exchange(live.is_in_line, true)) line_.push(account, live.entry.id);
  retry_later(live);  // others may stop asking
  return true;
}

std::uint64_t Rollouts::open_steps(const crypto::Address& provider) const {
  const auto drawn = drawn_.find(provider);
  const auto at_work = std::ranges::count_if(rollouts_of(provider),
                                             [](const LivePtr& live) { return live->is_asked; });
  return (drawn == drawn_.end() ? 0 : drawn->second) + static_cast<std::uint64_t>(at_work);
}

bool Rollouts::must_hold(Live& live) {
  const crypto::Address& provider = live.entry.provider;
  auto& held = held_[provider];
  // Who is over, or has moved on, holds up nobody.
  std::erase_if(held, [&](const core::Digest& id) {
    const auto found = live_.find(id);
    return found == live_.end() || found->second->entry.provider != provider;
  });
  const bool is_next = held.empty() || held.front() == live.entry.id;
  if (is_next && open_steps(provider) < deps_.audit_policy.open_steps_max(provider)) {
    std::erase(held, live.entry.id);
    if (held.empty()) held_.erase(provider);
    return false;
  }
  if (std::ranges::find(held, live.entry.id) == held.end()) held.push_back(live.entry.id);
  const std::uint64_t open_max = deps_.audit_policy.open_steps_max(provider);
  live.hindrance = fmt::format(
      "its provider's stake covers {} step{} of all its rollouts at a time: the next one begins "
      "when one before it is made and, if it is audited, found right",
      open_max, open_max == 1 ? "" : "s");
  return true;
}

void Rollouts::serve_held(const crypto::Address& provider) {
  const auto all = held_.find(provider);
  for (std::size_t turns = all == held_.end() ? 0 : all->second.size(); turns > 0; --turns) {
    const auto held = held_.find(provider);
    if (held == held_.end()) return;
    const core::Digest next = held->second.front();
    if (const auto live = live_.find(next); live != live_.end()) go_on(*LivePtr(live->second));
    // Whatever else it waits for lets it go on.
    const auto after = held_.find(provider);
    if (after == held_.end() || after->second.front() != next) continue;
    if (open_steps(provider) >= deps_.audit_policy.open_steps_max(provider)) return;
    after->second.pop_front();
    if (after->second.empty()) held_.erase(after);
  }
}

void Rollouts::serve_held_later(const crypto::Address& provider) {
  if (!held_.contains(provider)) return;
  deps_.loop.post([this, provider] { serve_held(provider); });
}

void Rollouts::ended(Live& live) {
  if (!std::exchange(live.is_asked, false)) return;
  serve_held_later(live.entry.provider);
  deps_.shares.on_end(live.entry.account, live.entry.provider, false);
  deps_.loop.post([this] { place_some(); });
}

/// A few: somebody at least, where there is room for one.
void Rollouts::place_some() {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    const auto next = line_.pop();
    if (!next) return;
    const auto found = live_.find(*next);
    if (found == live_.end()) continue;
    found->second->is_in_line = false;
    go_on(*found->second);
  }
}

Result<void> Rollouts::afford(const Live& live) const {
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.afford(live.entry.account);
}

void Rollouts::miss(Live& live) {
  if (!std::exchange(live.is_missed, true)) watch_absence(live);
}

/// Who goes away for good, or comes and never delivers, must not keep the consumer's money.
void Rollouts::watch_absence(const Live& live) {
  deps_.loop.after(limits::kRolloutAwayMsMax, [this, id = live.entry.id, steps = live.delivered] {
    const auto found = live_.find(id);
    if (found == live_.end() || found->second->delivered != steps) return;
    Live& live = *found->second;
    const Roster::Peer* const peer = deps_.roster.by_address(live.entry.provider);
    const bool is_there = peer != nullptr && peer->stream != nullptr;
    if (is_there && (live.is_ours || !peer->paused.empty())) return watch_absence(live);
    fail(live, RolloutState::kFailed,
         fmt::format("its provider was away for {} minutes", limits::kRolloutAwayMsMax / 60'000));
  });
}

void Rollouts::retry_later(Live& live) {
  deps_.loop.after(kRetryMs, [this, id = live.entry.id, turns = live.turns] {
    const auto found = live_.find(id);
    if (found != live_.end() && found->second->turns == turns) go_on(*found->second);
  });
}

void Rollouts::again(Live& live, const core::Error& why) {
  live.hindrance = why.message;
  miss(live);
  retry_later(live);
}

void Rollouts::on_lost(const event::StepLost& lost) {
  const LivePtr live = of_job(lost.work->id());
  if (!live) return settle(lost.work->id(), lost.work->account);
  ended(*live);
  Roster::Peer* const peer = deps_.roster.by_address(live->entry.provider);
  switch (lost.loss) {
    case Loss::kLeft:
    case Loss::kSilent:
      return go_on(*live);  // it may be back
    case Loss::kBroken:
      return refused(*live, lost.error, code_of(lost));
    case Loss::kRefused:
      if (peer != nullptr) peer->health.on_refusal();
      // Else it is not the rollout's fault: its provider has too much to do, say, or no room on its
      // disk.
      if (std::ranges::count(kFinal, lost.error.code) > 0)
        return refused(*live, lost.error, code_of(lost));
      return again(*live, lost.error);
    case Loss::kOurs:
      return again(*live, lost.error);
  }
}

/// For good: somebody else begins it, if it was not begun.
void Rollouts::refused(Live& live, const core::Error& why, std::string_view code) {
  const bool is_begun = live.work->client.last().step.index() > 0;
  if (is_begun || !move(live)) fail(live, RolloutState::kFailed, why.message, code);
}

/// To another provider, as another job. Errors: there is none, the store's.
Result<void> Rollouts::move(Live& live) {
  const Account gateway_itself{.name = "", .role = Role::kOperator};
  COMMENSAL_ASSIGN(const ModelVersion model,
                   deps_.hub.find(&gateway_itself, live.entry.model, live.entry.version));
  live.tried.insert(live.entry.provider);
  RolloutEntry entry = live.entry;
  COMMENSAL_ASSIGN(entry.provider,
                   choose_provider(model, entry.privacy_class.value_or(""), live.tried));
  entry.noise_key = deps_.rng.next_digest();
  rollout::JobRecord record = record_for(live.work->client.record(), deps_.rng.next_digest(),
                                         entry.noise_key, entry.provider);
  deps_.lottery.stamp(record.job);
  entry.job = protocol::job_id(record.job);
  entry.audit_probability =
      deps_.audit_policy.step_probability(record.job, entry.audit_probability);
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_TRY(rollout::JobRows(deps_.store, live.entry.job).erase({}));
    COMMENSAL_ASSIGN(live.work, start(entry, std::move(record)));
    return {};
  }));
  kept_bytes_.forget(live.entry.job);
  live.entry = std::move(entry);
  go_on(live);
  return {};
}

void Rollouts::on_made(const event::StepMade& made) {
  if (Roster::Peer* const peer = deps_.roster.at(made.trip.stream)) peer->health.on_answer(1);
}

void Rollouts::on_kept(const event::StepKept& kept) {
  const LivePtr live = of_job(kept.work->id());
  if (!live) {
    if (!kept.record) return settle(kept.work->id(), kept.work->account);
    outlived_.erase(kept.work->id());  // the till has taken what was reserved
    return keep_late(kept);
  }
  ended(*live);
  if (!kept.record) return again(*live, kept.record.error());
  --live->reserved;
  ++live->delivered;
  note_progress(*live, live->work->client);
  live->is_missed = false;
  count(*kept.record);
  note_bytes(live->entry);
  if (live->work->client.is_finished()) return finish(*live);
  go_on(*live);
  wake(live->entry.id);
}

/// A step that has outlived its rollout came to nothing.
void Rollouts::settle(const core::Digest& job, const std::string& account) {
  if (outlived_.erase(job) > 0) deps_.till.release(account, 1);
}

/// What was committed to when its rollout was cancelled, or was being written when it ended.
void Rollouts::keep_late(const event::StepKept& kept) {
  const RolloutEntry* const known = book_.of_job(kept.work->id());
  if (known == nullptr) return;
  count(*kept.record);
  RolloutEntry entry = *known;
  entry.steps_done = kept.work->client.delivered();
  entry.final_root = kept.work->client.root();
  deps_.events.report(book_.put(entry));
  note_bytes(entry);
  wake(entry.id);
}

/// Its end, whatever it was.
void Rollouts::close(RolloutEntry entry) {
  const auto live = live_.find(entry.id);
  if (live != live_.end()) {
    entry.steps_done = live->second->entry.steps_done;
    entry.final_root = live->second->entry.final_root;
  }
  deps_.events.report(book_.put(entry));
  // Who cancels pays for what is computed already.
  const bool is_due =
      entry.state == RolloutState::kCancelled && deps_.steps.is_committed(entry.job);
  const bool is_withdrawn = !is_due && deps_.steps.withdraw(entry.job);
  if (live != live_.end()) {
    // What else is on its way is kept or lost yet: until then its price stays set aside, and its
    // rows have a rollout.
    const bool is_coming = live->second->is_asked && !is_withdrawn;
    if (is_coming) outlived_.insert(entry.job);
    deps_.till.release(entry.account, live->second->reserved - (is_coming ? 1 : 0));
    ended(*live->second);
    live_.erase(live);
  } else if (is_withdrawn) {
    settle(entry.job, entry.account);
  }
  wake(entry.id);
}

void Rollouts::finish(Live& live) {
  RolloutEntry entry = live.entry;
  entry.state = RolloutState::kFinished;
  close(std::move(entry));
}

void Rollouts::fail(Live& live, RolloutState state, const std::string& why, std::string_view code) {
  RolloutEntry entry = live.entry;
  entry.state = state;
  entry.reason = why;
  entry.reason_code = code;
  close(std::move(entry));
}

void Rollouts::on_audit(const ReceiptRecord& record) {
  const core::Digest job = protocol::job_id(record.receipt.job);
  const RolloutEntry* const known = book_.of_job(job);
  if (known == nullptr) return;
  count(record);
  if (record.audit == AuditState::kDrawn) return;
  serve_held_later(record.receipt.job.provider);
  if (record.audit != AuditState::kMismatched) {
    const core::Digest rollout = known->id;
    if (const LivePtr live = of_job(job)) go_on(*live);
    return wake(rollout);
  }
  RolloutEntry entry = *known;
  entry.state = RolloutState::kCaught;
  entry.reason = fmt::format("step {} of rollout {}: {}", record.receipt.step,
                             core::to_hex(entry.id), record.verdict->reason);
  close(std::move(entry));
}

}  // namespace commensal::gateway
