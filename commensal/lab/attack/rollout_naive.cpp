// SPDX-License-Identifier: Apache-2.0
// Rollouts that LocalRollout does not play: a provider that keeps no rule, and rules that were
// naive.
#include <cmath>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/lab/attack/prices.hpp>
#include <commensal/lab/attack/rollout_engines.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/verify/noise/noise.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <commensal/verify/rollout/client.hpp>

namespace commensal::attack {
namespace {

using core::Digest;
using receipt::Values;

Values values_of(const tensor::NamedTensors& named) {
  Values values;
  for (const auto& item : named) values.push_back(item.value);
  return values;
}

struct Parties {
  core::CounterRng rng;
  crypto::SecretKey client = crypto::SecretKey::generate(rng);
  crypto::SecretKey provider = crypto::SecretKey::generate(rng);
  Digest noise_key = rng.next_digest();
};

rollout::JobRecord record_of(Models& models, Parties& parties, std::uint64_t steps, int exponent) {
  rollout::JobRecord record;
  record.inputs = Models::letters_inputs();
  record.input_salt = parties.rng.next_digest();
  protocol::Job& job = record.job;
  job.kind = protocol::JobKind::kRollout;
  job.graph_root = models.letters_roots().graph;
  job.weight_root = models.letters_roots().weights;
  job.numerics_version = kernels::kNumericsVersion;
  job.input_commitment =
      protocol::commit_input(receipt::state_root(record.inputs), record.input_salt);
  job.steps = steps;
  job.client = parties.client.address();
  job.provider = parties.provider.address();
  job.noise = protocol::NoisePolicy::kCalibrated;
  job.noise_exponent = static_cast<std::uint8_t>(exponent);
  job.noise_anchor = rollout::noise_chain(parties.noise_key, steps).anchor();
  job.states = protocol::StateRule::kMovable;
  job.feeds = Models::letters_feeds();
  return record;
}

/// One step, all signatures right. Error: the client's refusal of what is delivered.
Result<Values> make_step(rollout::ClientJob& client, const rollout::JobRecord& record,
                         RolloutEngine& engine, Parties& parties, const Values& before) {
  COMMENSAL_ASSIGN(const auto begin, client.begin());
  const protocol::Job& job = record.job;
  const Values inputs =
      receipt::inputs_of_step(job, values_of(record.inputs), begin.step > 1 ? &before : nullptr);
  const auto noise = receipt::noise_of_step(job, client.job_id(), begin.step, begin.value);
  COMMENSAL_ASSIGN(auto outputs, engine.run(begin.step, inputs, noise, {}));
  const Digest salt = parties.rng.next_digest();
  const Digest root = receipt::outputs_root(engine.graph(), outputs);
  receipt::Commit commit{
      begin.job, begin.step, protocol::commit_step(client.job_id(), begin.step, root, salt), 1, {}};
  const std::vector<protocol::ReceiptBody> bodies = {
      {client.job_id(), begin.step, commit.commitment, commit.round}};
  commit.signature =
      protocol::sign_batch(parties.provider, protocol::Role::kProvider, bodies).front();
  COMMENSAL_TRY(client.on_commit(commit));
  COMMENSAL_TRY(
      client.on_deliver({begin.job, begin.step, salt,
                         receipt::name_tensors(engine.graph(), engine.graph().outputs, outputs)}));
  return outputs;
}

}  // namespace

Result<Trial> play_past_provider(Models& models, RolloutEngine& engine, std::uint64_t steps,
                                 int exponent, std::uint64_t seed) {
  Parties parties{.rng = core::CounterRng(seed)};
  const rollout::JobRecord record = record_of(models, parties, steps, exponent);
  store::MemoryStore store;
  COMMENSAL_ASSIGN(auto client, rollout::ClientJob::start({parties.client, models.letters_graph(),
                                                           parties.noise_key, &store},
                                                          record));
  Values before;
  std::uint64_t delivered = 0;
  Trial trial;
  while (!trial.caught && delivered < steps) {
    auto outputs = make_step(client, record, engine, parties, before);
    trial.caught = !outputs && outputs.error().code == core::ErrorCode::kInvalidArgument;
    if (!outputs && !trial.caught) return tl::unexpected(outputs.error());
    if (outputs) before = *std::move(outputs), ++delivered;
  }
  // What was delivered is worth its tickets; the step that was refused earns nothing.
  const double paid = price::kPay * static_cast<double>(delivered);
  trial.profit = paid - engine.cost();
  trial.others = price::kWorth * static_cast<double>(delivered) - paid;
  return trial;
}

Result<Trial> play_naive(Models& models, std::uint64_t steps, double win, double face, int exponent,
                         std::uint64_t seed) {
  core::CounterRng rng(seed);
  const Digest job = rng.next_digest(), beacon = rng.next_digest();
  COMMENSAL_ASSIGN(const Digest threshold, ticket::threshold_of(win));
  // T: any letter and a state of zeros. N_i itself is what noise makes of zeros.
  const std::vector<std::int64_t> letter = {0};
  const std::vector<float> zeros(160, 0);
  const Values target = {tensor::Tensor::of<std::int64_t>({1}, letter),
                         tensor::Tensor::of<float>({1, 160}, zeros)};
  COMMENSAL_ASSIGN(const Values known, models.letters().run(target, std::nullopt));
  Trial trial;
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const noise::Noise noise{noise::seed_of(rng.next_digest(), job, step), exponent};
    COMMENSAL_ASSIGN(const auto added, models.letters().disturbed(target, noise));
    std::vector<float> chosen;
    for (const float each : added[1].data<float>()) chosen.push_back(0 - each);
    const Values input = {target[0], tensor::Tensor::of<float>({1, 160}, chosen)};
    const Digest root = receipt::outputs_root(*models.letters_graph(), known);
    const Digest commitment = protocol::commit_step(job, step, root, rng.next_digest());
    trial.profit -= price::kGarbage;
    if (!ticket::wins(ticket::draw(beacon, {job, step, commitment, 1}), threshold)) continue;
    COMMENSAL_ASSIGN(const Values replayed, models.letters().run(input, noise));
    const bool is_right = receipt::outputs_root(*models.letters_graph(), replayed) == root;
    trial.caught = trial.caught || !is_right;
    trial.profit += is_right ? face : 0;
  }
  trial.bad = trial.bad_paid = static_cast<double>(steps);  // none of them is what was asked for
  trial.others = -trial.profit;
  return trial;
}

}  // namespace commensal::attack
