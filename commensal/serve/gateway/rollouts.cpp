// SPDX-License-Identifier: Apache-2.0
// Rollouts from outside: made, looked at, waited for. rollouts_turns.cpp drives them.
#include <algorithm>
#include <commensal/serve/gateway/rollouts.hpp>
#include <commensal/serve/gateway/scheduler.hpp>

namespace commensal::gateway {

using core::ErrorCode;
using core::Result;

Rollouts::Rollouts(const Dependencies& deps) : deps_(deps), book_(deps_.store) {
  deps_.hub.count_too(
      [this](const std::string& owner, std::int64_t most) { return shrink(owner, most); });
}

Result<void> Rollouts::open() {
  COMMENSAL_TRY(rollout::drop_strays(deps_.store));
  COMMENSAL_TRY(book_.open());
  COMMENSAL_ASSIGN(const auto steps, deps_.book.select([](const auto& one) {
    return one.receipt.job.traits().is_kept;
  }));
  for (const ReceiptRecord& record : steps) count(record);
  for (const auto& [id, entry] : book_.entries()) note_bytes(entry);
  for (const auto& [id, entry] : book_.entries()) {
    if (entry.state == RolloutState::kRunning) load(entry);
  }
  return {};
}

void Rollouts::count(const ReceiptRecord& record) {
  if (record.audit == AuditState::kNotDrawn) return;
  StepAudits& counts = audits_[protocol::job_id(record.receipt.job)];
  const std::uint64_t step = record.receipt.step;
  const crypto::Address& provider = record.receipt.job.provider;
  if (record.audit == AuditState::kDrawn) {
    if (counts.open.insert(step).second) ++drawn_[provider];
    return;
  }
  if (counts.open.erase(step) > 0 && --drawn_[provider] == 0) drawn_.erase(provider);
  if (record.audit == AuditState::kMatched) {
    ++counts.matched;
    counts.confirmed_later.insert(step);
    while (counts.confirmed_later.erase(counts.confirmed + 1) > 0) ++counts.confirmed;
  } else if (record.audit == AuditState::kMismatched) {
    counts.mismatches.insert(step);
  }
}

const StepAudits& Rollouts::audits(const core::Digest& job) const {
  static const StepAudits kNone;
  const auto found = audits_.find(job);
  return found == audits_.end() ? kNone : found->second;
}

/// There is room for one more, what it may win is there, and what it costs, which is set aside.
Result<void> Rollouts::admit(const RolloutRequest& request) {
  if (live_.size() >= limits::kRolloutsLiveMax) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "{} rollouts are running, at most {} at a time", live_.size(),
                      limits::kRolloutsLiveMax);
  }
  const auto own = std::ranges::count_if(
      live_, [&](const auto& one) { return one.second->entry.account == request.account.name; });
  if (request.account.role != Role::kOperator &&
      std::cmp_greater_equal(own, deps_.bounds.account_max)) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "'{}' has {} rollouts running, the most of one account: wait for one",
                      request.account.name, own);
  }
  COMMENSAL_TRY(deps_.book.admit(request.account.name));
  COMMENSAL_TRY(deps_.lottery.cover());
  return deps_.till.reserve(request.account.name, request.steps);
}

namespace {
/// The model may have been removed since, and is called by its last name by its owner. Who names no
/// class of privacy may find it in one.
bool asks_for(const RolloutRequest& request, const RolloutEntry& known) {
  const bool same_model =
      known.model == request.model || known.model.ends_with("/" + request.model);
  const bool same_class =
      request.privacy_class.empty() || known.privacy_class == request.privacy_class;
  return same_model && same_class && known.steps == request.steps;
}
}  // namespace

Result<RolloutStatus> Rollouts::create(RolloutRequest request) {
  if (!request.key.empty()) {
    const RolloutEntry* const known = book_.find(request.account.name, request.key);
    if (known != nullptr && !asks_for(request, *known)) {
      return core::fail(ErrorCode::kAlreadyExists,
                        "the key '{}' is of a rollout of {} over {} steps: another one takes "
                        "another key",
                        request.key, known->model, known->steps);
    }
    if (known != nullptr) return status_of(*known);
  }
  COMMENSAL_ASSIGN(const RolloutPlan plan,
                   plan_rollout(std::move(request), deps_.hub, deps_.privacy));
  COMMENSAL_TRY(admit(plan.request));
  auto begun = begin(plan);
  if (!begun) deps_.till.release(plan.request.account.name, plan.request.steps);
  return begun;
}

rollout::ClientJob::Dependencies Rollouts::client_deps(const RolloutEntry& entry) const {
  return {deps_.key, outline_of(entry.inputs, entry.outputs), entry.noise_key, &deps_.store};
}

Result<crypto::Address> Rollouts::choose_provider(const ModelVersion& model,
                                                  const std::string& privacy_class,
                                                  const std::set<crypto::Address>& tried) const {
  auto candidates = deps_.roster.candidates(model, privacy_class, 0, tried,
                                            deps_.clock.monotonic_ns() / 1'000'000);
  deps_.audit_policy.weigh(candidates);
  for (Candidate& one : candidates) {
    if (!one.excluded.empty() && !one.may_come) continue;
    std::string why = deps_.lottery.reservation(one.address);
    if (why.empty()) why = deps_.audit_policy.step_refusal(one.address);
    if (why.empty()) continue;
    // Who is away has shown nothing yet: that it is away says more.
    if (one.may_come && deps_.roster.connected(one.address) == nullptr) why = one.excluded;
    set_aside(one, std::move(why));
  }
  // A rollout stays with its provider, whose pauses come and go: one is chosen where nobody is
  // free, but none that may turn out to be nobody for its inputs.
  const bool is_free =
      std::ranges::any_of(candidates, [](const auto& one) { return one.excluded.empty(); });
  for (Candidate& one : candidates) {
    const bool is_known = privacy_class.empty() || deps_.roster.by_address(one.address)->privacy;
    if (one.may_come && is_known && !is_free) one.excluded.clear();
  }
  COMMENSAL_ASSIGN(const std::size_t chosen, choose(candidates, model.name));
  return candidates[chosen].address;
}

Result<RolloutStatus> Rollouts::begin(const RolloutPlan& plan) {
  const ModelVersion& model = plan.order.model;
  COMMENSAL_ASSIGN(const crypto::Address provider,
                   choose_provider(model, plan.order.privacy_class, {}));
  RolloutEntry entry{.account = plan.request.account.name,
                     .key = plan.request.key,
                     .model = model.name,
                     .version = model.version,
                     .content = model.content,
                     .noise_key = deps_.rng.next_digest(),
                     .provider = provider,
                     .steps = plan.request.steps,
                     .audit_probability = plan.request.audit_probability,
                     .created_ms = deps_.clock.wall_ms(),
                     .reason = {},
                     .inputs = model.inputs,
                     .outputs = model.outputs};
  if (!plan.order.privacy_class.empty()) entry.privacy_class = plan.order.privacy_class;
  rollout::JobRecord record = record_of(plan, deps_.rng.next_digest(), entry.noise_key,
                                        deps_.key.address(), provider, deps_.auditor);
  deps_.lottery.stamp(record.job);
  COMMENSAL_TRY(record.job.validity());
  entry.audit_probability =
      deps_.audit_policy.step_probability(record.job, entry.audit_probability);
  // A state is about as large as what it begins with.
  COMMENSAL_TRY(fit(entry.account, 2 * rollout::bytes_of(record.inputs)));
  COMMENSAL_TRY(make_room(1, 0, ""));
  entry.id = entry.job = protocol::job_id(record.job);
  COMMENSAL_ASSIGN(const WorkPtr work, start(entry, std::move(record)));
  const auto live = std::make_shared<Live>(
      Live{.entry = entry, .work = work, .reserved = entry.steps, .hindrance = {}, .tried = {}});
  live_.emplace(entry.id, live);
  go_on(*live);
  return status_of(entry);
}

/// Durable when it returns.
Result<WorkPtr> Rollouts::start(const RolloutEntry& entry, rollout::JobRecord record) {
  WorkPtr work;
  COMMENSAL_TRY(deps_.store.together([&]() -> Result<void> {
    COMMENSAL_ASSIGN(auto client, rollout::ClientJob::start(client_deps(entry), std::move(record)));
    work = work_of(entry, std::move(client));
    return book_.put(entry);
  }));
  note_bytes(entry);
  return work;
}

WorkPtr Rollouts::work_of(const RolloutEntry& entry, rollout::ClientJob client) const {
  return std::make_shared<Work>(Work{.client = std::move(client),
                                     .account = entry.account,
                                     .model = entry.model,
                                     .version = entry.version,
                                     .content = entry.content,
                                     .audit_probability = entry.audit_probability,
                                     .privacy_class = entry.privacy_class.value_or("")});
}

void Rollouts::load(const RolloutEntry& entry) {
  const auto live = std::make_shared<Live>();
  live->entry = entry;
  auto client = rollout::ClientJob::load(client_deps(entry), entry.job);
  if (client) note_progress(*live, *client);
  live->reserved = entry.steps - std::min(entry.steps, live->entry.steps_done);
  deps_.till.reserve_again(entry.account, live->reserved);
  live_.emplace(entry.id, live);
  if (!client) return fail(*live, RolloutState::kFailed, client.error().message);
  live->work = work_of(entry, *std::move(client));
  if (live->work->client.is_finished()) return finish(*live);
  go_on(*live);
}

void Rollouts::note_progress(Live& live, const rollout::ClientJob& client) {
  live.entry.steps_done = client.delivered();
  live.entry.final_root = client.root();
}

RolloutStatus Rollouts::status_of(const RolloutEntry& entry) const {
  const auto live = live_.find(entry.id);
  if (live == live_.end()) return {entry, audits(entry.job), trusted_steps(entry)};
  RolloutStatus status{live->second->entry, audits(entry.job), 0};
  status.trusted_steps = trusted_steps(status.entry);
  status.entry.reason = live->second->hindrance;
  return status;
}

std::uint64_t Rollouts::trusted_steps(const RolloutEntry& entry) const {
  const Roster::Peer* const peer = deps_.roster.by_address(entry.provider);
  const StepAudits& known = audits(entry.job);
  const bool is_caught = entry.state == RolloutState::kCaught || !known.mismatches.empty() ||
                         (peer != nullptr && !peer->banned.empty());
  const std::uint64_t decided = known.open.empty() ? entry.steps_done : *known.open.begin() - 1;
  return std::min(is_caught ? known.confirmed : decided, entry.steps_done);
}

Result<RolloutStatus> Rollouts::status(const core::Digest& rollout) const {
  const RolloutEntry* const entry = book_.find(rollout);
  if (entry != nullptr) return status_of(*entry);
  return core::fail(ErrorCode::kNotFound, "unknown rollout {}", core::to_hex(rollout));
}

bool Rollouts::needs_model(const core::Digest& content) const {
  return std::ranges::any_of(live_,
                             [&](const auto& one) { return one.second->entry.content == content; });
}

std::vector<RolloutStatus> Rollouts::list(const std::string& account, std::size_t count,
                                          const std::string& key) const {
  std::vector<const RolloutEntry*> entries;
  for (const auto& [id, entry] : book_.entries()) {
    const bool is_of_account = account.empty() || entry.account == account;
    if (is_of_account && entry.key.starts_with(key)) entries.push_back(&entry);
  }
  std::ranges::stable_sort(entries, std::ranges::greater(), &RolloutEntry::created_ms);
  if (entries.size() > count) entries.resize(count);
  std::vector<RolloutStatus> list;
  for (const RolloutEntry* entry : entries) list.push_back(status_of(*entry));
  return list;
}

Result<rollout::StepRecord> Rollouts::step(const core::Digest& rollout, std::uint64_t step) const {
  COMMENSAL_ASSIGN(const RolloutStatus found, status(rollout));
  COMMENSAL_ASSIGN(rollout::StepRecord record,
                   rollout::JobRows(deps_.store, found.entry.job).step(step));
  if (record.step.phase() == receipt::StepPhase::kDelivered) return record;
  return core::fail(ErrorCode::kNotFound, "step {} is not delivered", step);
}

Result<rollout::JobRecord> Rollouts::record(const core::Digest& rollout) const {
  COMMENSAL_ASSIGN(const RolloutStatus found, status(rollout));
  return rollout::JobRows(deps_.store, found.entry.job).rollout();
}

Result<RolloutStatus> Rollouts::cancel(const core::Digest& rollout) {
  const auto found = live_.find(rollout);
  if (found != live_.end())
    fail(*LivePtr(found->second), RolloutState::kCancelled, "its account has cancelled it");
  return status(rollout);
}

Result<void> Rollouts::wait(const core::Digest& rollout, std::int64_t wait_ms,
                            std::function<void()> then) {
  if (waiters_.size() >= limits::kRolloutWaitersMax) {
    return core::fail(ErrorCode::kResourceExhausted, "{} requests wait for rollouts, its limit",
                      waiters_.size());
  }
  const std::uint64_t id = ++last_waiter_;
  waiters_.emplace(id, Waiter{rollout, std::move(then)});
  deps_.loop.after(std::min(wait_ms, limits::kRolloutWaitMsMax), [this, id] {
    auto waiter = waiters_.extract(id);
    if (!waiter.empty()) waiter.mapped().then();
  });
  return {};
}

void Rollouts::wake(const core::Digest& rollout) {
  std::vector<std::function<void()>> ready;
  for (auto item = waiters_.begin(); item != waiters_.end();) {
    const auto next = std::next(item);
    if (item->second.rollout == rollout) {
      ready.push_back(std::move(item->second.then));
      waiters_.erase(item);
    }
    item = next;
  }
  for (const auto& then : ready) then();
}

}  // namespace commensal::gateway
