// SPDX-License-Identifier: Apache-2.0
// From an input to the money.
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/attack/stand.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/verify/receipt/step.hpp>

namespace commensal::attack {

using core::check;

Result<Work> Stand::commit(Party& gateway, Party& provider, tensor::NamedTensors inputs,
                           const tensor::NamedTensors& outputs) {
  Work work{&gateway, &provider, {}, std::move(inputs), {}, {}, {}};
  work.input_salt = rng_.next_digest();
  work.output_salt = rng_.next_digest();
  work.output_root = receipt::state_root(outputs);
  work.receipt.job = job(gateway, provider,
                         protocol::commit_input(receipt::state_root(work.inputs), work.input_salt));
  work.receipt.step = 1;
  work.receipt.round = round_;
  work.receipt.commitment = protocol::commit_step(protocol::job_id(work.receipt.job), 1,
                                                  work.output_root, work.output_salt);
  COMMENSAL_ASSIGN(const auto right, models_.run(Models::Digits::kHonest, work.inputs));
  const Digest right_root = receipt::state_root(right);
  knowing_.learn(receipt::state_root(work.inputs), right_root);
  work.is_bad = right_root != work.output_root;
  return work;
}

void Stand::sign(std::span<Work> works) {
  if (works.empty()) return;
  std::vector<protocol::ReceiptBody> bodies;
  for (const Work& work : works) bodies.push_back(work.receipt.body());
  const auto by_provider =
      protocol::sign_batch(works[0].provider->key, protocol::Role::kProvider, bodies);
  const auto by_client =
      protocol::sign_batch(works[0].gateway->key, protocol::Role::kClient, bodies);
  for (std::size_t i = 0; i < works.size(); ++i) {
    works[i].receipt.provider = by_provider[i];
    works[i].receipt.client = by_client[i];
  }
}

/// The client's side of each step, in its order.
Result<void> Stand::deliver(std::span<Work> works) {
  protocol::KnownSignatures known;
  for (const Work& work : works) {
    const protocol::Receipt& receipt = work.receipt;
    receipt::Step step(receipt.job, receipt.step);
    COMMENSAL_TRY(step.commit(receipt.commitment, receipt.round, receipt.provider));
    COMMENSAL_TRY(step.countersign(receipt.client, &known));
    COMMENSAL_TRY(step.deliver(work.output_root, work.output_salt));
  }
  return {};
}

Result<std::vector<Work>> Stand::serve(Party& gateway, Party& provider, std::size_t count,
                                       const Maker& maker, double& cost) {
  std::vector<Work> works;
  for (std::size_t i = 0; i < count; ++i) {
    auto input = models_.picture(rng_);
    COMMENSAL_ASSIGN(const Made made, maker(i, input));
    cost += made.cost;
    COMMENSAL_ASSIGN(works.emplace_back(),
                     commit(gateway, provider, std::move(input), made.outputs));
  }
  sign(works);
  COMMENSAL_TRY(deliver(works));
  return works;
}

Result<void> Stand::reveal(Party& who, std::uint64_t round) {
  COMMENSAL_ASSIGN(const Digest value, who.chain.reveal(round));
  COMMENSAL_TRY(send(who, ledger::Reveal{ledger::hash_chain_key(who.head), round, value}));
  return {};
}

void Stand::mark_winners(std::span<Work> works) {
  for (Work& work : works) {
    const auto ours = work.gateway->chain.reveal(work.receipt.round);
    const auto theirs = work.provider->chain.reveal(work.receipt.round);
    check(ours && theirs, "a round of the chains");
    const Digest beacon = protocol::beacon_value(work.receipt.round, *ours, *theirs);
    work.won =
        ticket::wins(ticket::draw(beacon, work.receipt.body()), work.receipt.job.win_threshold);
  }
}

Result<void> Stand::draw(std::span<Work> works) {
  for (Party* who : {gateway_, provider_}) COMMENSAL_TRY(reveal(*who, round_));
  ++round_;
  mark_winners(works);
  return {};
}

Result<void> Stand::claim(const Work& winner) {
  protocol::Claim claim{winner.receipt, {}, {}, winner.output_root, winner.output_salt};
  COMMENSAL_ASSIGN(claim.gateway_reveal, winner.gateway->chain.reveal(winner.receipt.round));
  COMMENSAL_ASSIGN(claim.provider_reveal, winner.provider->chain.reveal(winner.receipt.round));
  COMMENSAL_TRY(send(*winner.provider, ledger::Open{claim, {}}));
  return {};
}

Result<std::size_t> Stand::claim_what_is_covered(std::span<const Work> works, std::size_t& wrong) {
  std::size_t refused = 0;
  for (const Work& work : works) {
    if (!work.won) continue;
    if (!claim(work)) {
      ++refused;
      continue;
    }
    COMMENSAL_ASSIGN(const bool is_right, audit(work));
    wrong += is_right ? 0 : 1;
  }
  return refused;
}

Result<Digest> Stand::replay(const Work& work) {
  receipt::StepTask task;
  task.job = work.receipt.job;
  task.input_salt = work.input_salt;
  task.inputs = work.inputs;
  return receipt::replay(task, models_.auditor(), models_.digits_roots());
}

Result<bool> Stand::audit(const Work& winner) {
  COMMENSAL_ASSIGN(const Digest root, replay(winner));
  auto verdict = receipt::judge(winner.receipt.body(), root, winner.output_salt, auditor_->key);
  if (verdict.outcome != protocol::Outcome::kMatch) {
    COMMENSAL_ASSIGN(const bool is_convicted, accuse(winner, *auditor_, root));
    return !is_convicted;
  }
  COMMENSAL_TRY(send(*auditor_, ledger::Judge{winner.receipt, std::move(verdict)}));
  return true;
}

Result<void> Stand::confirm(const Work& winner, const Party& auditor) {
  protocol::Verdict verdict;
  verdict.receipt_id = protocol::receipt_id(winner.receipt.body());
  verdict.outcome = protocol::Outcome::kMatch;
  verdict.expected_commitment = verdict.recomputed_commitment = winner.receipt.commitment;
  verdict.reason = "as its auditor says";
  COMMENSAL_TRY(send(auditor, ledger::Judge{winner.receipt, protocol::sign_verdict(
                                                                auditor.key, std::move(verdict))}));
  return {};
}

Result<void> Stand::idle(std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) COMMENSAL_TRY(draw({}));
  return {};
}

void Stand::forget_claims() {
  ledger::State state = ledger_->state();
  state.claims = {};
  ledger_.emplace(signatures_, ledger::with_sum(std::move(state)), &arbiter_);
}

Result<void> Stand::mature(const Work& winner) {
  wait_ms(rules().audit_delay_ms);
  COMMENSAL_TRY(send(*winner.provider, ledger::Mature{winner.id()}));
  return {};
}

Result<std::size_t> Stand::settle(std::span<const Work> works, bool is_audited) {
  std::size_t wrong = 0;
  for (const Work& work : works) {
    if (!work.won) continue;
    COMMENSAL_TRY(claim(work));
    if (!is_audited) {
      COMMENSAL_TRY(mature(work));
      continue;
    }
    COMMENSAL_ASSIGN(const bool is_right, audit(work));
    wrong += is_right ? 0 : 1;
  }
  return wrong;
}

}  // namespace commensal::attack
