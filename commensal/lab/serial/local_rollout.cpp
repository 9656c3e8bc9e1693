// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/serial/local_rollout.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/verify/receipt/replay.hpp>

namespace commensal::serial {

using core::Digest;
using core::Result;

namespace {

constexpr std::uint64_t kLongRollout = 10;  // from here on step 1 is always audited

Digest derive(const Digest& secret, std::string_view what) {
  return crypto::tagged_hash("commensal/lab-chain/v1", secret, core::as_bytes(what));
}

/// What `change` writes becomes one batch.
template <class Change>
auto durably(store::JointStore& store, const Change& change) {
  store.hold();
  auto done = change();
  auto released = store.release();
  if (done && !released) done = tl::unexpected(released.error());
  return done;
}

}  // namespace

Digest LocalRollout::derived(std::string_view what) const { return derive(options_.secret, what); }

LocalRollout::LocalRollout(const Outside& outside, RolloutOptions options, Keys keys,
                           std::unique_ptr<rollout::Engine> honest, noise::NoisySession auditing,
                           const receipt::ModelRoots& roots)
    : outside_(outside),
      options_(std::move(options)),
      keys_(std::move(keys)),
      client_store_(outside.client),
      provider_store_(outside.provider),
      honest_(std::move(honest)),
      auditing_(std::move(auditing)),
      roots_(roots) {}

Result<std::unique_ptr<LocalRollout>> LocalRollout::open(const Outside& outside,
                                                         RolloutOptions options) {
  const auto key = [&](std::string_view what) {
    return crypto::SecretKey::from_bytes(derive(options.secret, what));
  };
  COMMENSAL_ASSIGN(auto client, key("client"));
  COMMENSAL_ASSIGN(auto provider, key("provider"));
  COMMENSAL_ASSIGN(auto auditor, key("auditor"));
  const auto session = [&] {
    return noise::NoisySession::create(options.graph, options.session, options.feeds);
  };
  COMMENSAL_ASSIGN(auto computing, session());
  COMMENSAL_ASSIGN(auto auditing, session());
  auto leaves = std::make_shared<const receipt::ModelLeaves>(receipt::model_leaves(*options.graph));
  const receipt::ModelRoots roots = receipt::model_roots(*leaves);
  auto honest = std::make_unique<rollout::SessionEngine>(std::move(computing), std::move(leaves));
  std::unique_ptr<LocalRollout> made(new LocalRollout(
      outside, std::move(options), {std::move(client), std::move(provider), std::move(auditor)},
      std::move(honest), std::move(auditing), roots));
  COMMENSAL_TRY(made->open_parties());
  return made;
}

Result<rollout::JobRecord> LocalRollout::agreed() const {
  rollout::JobRecord record;
  record.inputs = options_.inputs;
  record.input_salt = derived("input salt");
  protocol::Job& job = record.job;
  job.kind = protocol::JobKind::kRollout;
  job.graph_root = roots_.graph;
  job.weight_root = roots_.weights;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment =
      protocol::commit_input(receipt::state_root(record.inputs), record.input_salt);
  job.steps = options_.steps;
  job.client = keys_.client.address();
  job.provider = keys_.provider.address();
  job.face_value = options_.face_value;
  COMMENSAL_ASSIGN(job.win_threshold, ticket::threshold_of(options_.win_probability));
  job.beacons = {tickets_->beacon_id()};
  job.states = options_.states;
  job.feeds = options_.feeds;
  if (options_.noise_exponent) {
    job.noise = protocol::NoisePolicy::kCalibrated;
    job.noise_exponent = static_cast<std::uint8_t>(*options_.noise_exponent);
    job.noise_anchor = rollout::noise_chain(derived("noise"), job.steps).anchor();
  }
  return record;
}

Result<bool> LocalRollout::is_known(core::Store& store) const {
  return rollout::JobRows(store, report_.job).is_there();
}

rollout::Engine& LocalRollout::engine() {
  return options_.engine != nullptr ? *options_.engine : *honest_;
}

Result<void> LocalRollout::open_parties() {
  tickets_.emplace(RolloutTickets::Dependencies{
      client_store_, provider_store_, outside_.clock, keys_.client, keys_.provider,
      derived("client rounds"), derived("provider rounds"), options_.steps_per_round,
      options_.steps});
  COMMENSAL_TRY(tickets_->open());
  COMMENSAL_ASSIGN(const auto record, agreed());
  report_.job = protocol::job_id(record.job);
  const rollout::ClientJob::Dependencies asking{keys_.client, options_.graph, derived("noise"),
                                                &client_store_};
  const rollout::ProviderJob::Dependencies computing{outside_.rng, keys_.provider,
                                                     &provider_store_};
  COMMENSAL_ASSIGN(const bool is_asked, is_known(client_store_));
  COMMENSAL_ASSIGN(auto client, is_asked ? rollout::ClientJob::load(asking, report_.job)
                                         : rollout::ClientJob::start(asking, record));
  client_.emplace(std::move(client));
  COMMENSAL_ASSIGN(const bool is_begun, is_known(provider_store_));
  if (is_begun) {
    COMMENSAL_ASSIGN(auto provider, rollout::ProviderJob::load(computing, report_.job));
    provider_.emplace(std::move(provider));
  } else {
    provider_.emplace(computing, record);
  }
  report_.resumed_after = client_->last().step.index();
  return {};
}

Result<receipt::Commit> LocalRollout::commit(const receipt::Begin& begin) {
  return durably(provider_store_, [&]() -> Result<receipt::Commit> {
    COMMENSAL_ASSIGN(auto made, provider_->begin(begin, engine(), tickets_->round_of(begin.step)));
    const rollout::StepRecord& record = provider_->last();
    COMMENSAL_TRY(tickets_->provider_commits(
        {record.step.receipt(), receipt::state_root(record.outputs), record.output_salt}));
    return made;
  });
}

Result<receipt::Countersign> LocalRollout::countersign(const receipt::Commit& commit) {
  return durably(client_store_, [&]() -> Result<receipt::Countersign> {
    COMMENSAL_ASSIGN(auto made, client_->on_commit(commit));
    COMMENSAL_ASSIGN(const auto receipt, client_->receipt(commit.step));
    COMMENSAL_TRY(tickets_->client_signs(receipt));
    return made;
  });
}

Result<void> LocalRollout::deliver(const receipt::Countersign& countersign) {
  COMMENSAL_ASSIGN(
      const auto delivery, durably(provider_store_, [&]() -> Result<receipt::Deliver> {
        COMMENSAL_ASSIGN(auto made, provider_->countersign(countersign));
        COMMENSAL_TRY(tickets_->provider_countersigned(provider_->last().step.receipt()));
        return made;
      }));
  return client_->on_deliver(delivery);
}

Result<void> LocalRollout::make_step() {
  if (const auto pending = client_->pending()) return deliver(*pending);
  COMMENSAL_ASSIGN(const auto begin, client_->begin());
  COMMENSAL_ASSIGN(const auto committed, commit(begin));
  COMMENSAL_ASSIGN(const auto signature, countersign(committed));
  return deliver(signature);
}

bool LocalRollout::is_drawn_for_audit(std::uint64_t step) const {
  if (step == 1 && options_.steps >= kLongRollout) return true;
  const Digest draw = derived(fmt::format("audit {}", step));
  std::uint64_t top = 0;
  for (int i = 0; i < 8; ++i) top = top << 8 | draw[static_cast<std::size_t>(i)];
  return std::ldexp(static_cast<double>(top >> 11), -53) < options_.audit_probability;
}

Result<bool> LocalRollout::audit(std::uint64_t step) {
  const auto is_caught = [&](const CaughtStep& record) { return record.step == step; };
  if (std::ranges::any_of(report_.caught, is_caught)) return false;  // drawn, and a winner
  COMMENSAL_ASSIGN(const auto shown, client_->opening(step));
  COMMENSAL_ASSIGN(const Digest root, receipt::replay(shown.task, auditing_, roots_));
  ++report_.audits;
  COMMENSAL_ASSIGN(const auto receipt, client_->receipt(step));
  auto verdict = receipt::judge(receipt.body(), root, shown.output_salt, keys_.auditor);
  if (verdict.outcome == protocol::Outcome::kMatch) return true;
  COMMENSAL_ASSIGN(auto caught, catch_step(shown, std::move(verdict)));
  report_.caught.push_back(std::move(caught));
  return false;
}

Result<CaughtStep> LocalRollout::catch_step(const receipt::Opening& shown,
                                            protocol::Verdict verdict) {
  const std::uint64_t step = shown.task.step;
  rollout::NodeRoots ours;
  COMMENSAL_TRY(receipt::replay(shown.task, auditing_, roots_, {.tracer = &ours}));
  COMMENSAL_ASSIGN(const auto theirs, provider_->trace(step, engine()));
  const auto place = rollout::first_difference(ours.roots(), theirs);
  COMMENSAL_ASSIGN(core::Bytes opening, protocol::encode_stored(shown));
  CaughtStep caught{step, std::move(verdict), {}, {}, std::move(opening)};
  if (place && *place < ours.roots().size()) caught.node = ours.roots()[*place].node;
  COMMENSAL_ASSIGN(const auto receipt, client_->receipt(step));
  COMMENSAL_ASSIGN(caught.ruling, adjudicate({receipt, shown, engine(), auditing_, keys_.provider,
                                              keys_.auditor}));
  return caught;
}

Result<void> LocalRollout::after_step(std::uint64_t step) {
  if (is_drawn_for_audit(step)) {
    COMMENSAL_TRY(audit(step));
  }
  COMMENSAL_TRY(tickets_->draw_up_to(step, [&](std::uint64_t winner) { return audit(winner); }));
  report_.steps = step;
  report_.final_root = receipt::outputs_root(*options_.graph, client_->outputs());
  report_.tickets = tickets_->totals();
  return {};
}

Result<RolloutReport> LocalRollout::run(const std::function<void(const RolloutReport&)>& shown) {
  // What a crash may have cut off behind a delivery.
  if (client_->last().step.index() > 0 && !client_->pending()) {
    COMMENSAL_TRY(after_step(client_->last().step.index()));
  }
  while (!client_->is_finished()) {
    if (options_.stops_at_mismatch && !report_.caught.empty()) break;
    COMMENSAL_TRY(make_step());
    COMMENSAL_TRY(after_step(client_->last().step.index()));
    shown(report_);
  }
  return report_;
}

}  // namespace commensal::serial
