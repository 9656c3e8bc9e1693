// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/ledger/testing/random_disputes.hpp>
#include <commensal/trade/pay/ledger/testing/scripted_arbiter.hpp>

namespace commensal::ledger::testing {
namespace {

constexpr std::size_t kAccusers = 3, kAuditors = 5;
constexpr std::uint64_t kFunds = 100'000;
constexpr Digest kNonce{9};

}  // namespace

RandomDisputes::RandomDisputes(std::uint64_t seed) : rng_(seed, 3) {
  for (std::size_t i = 0; i < kAccusers; ++i) rng_.fill(accusers_.emplace_back().bytes);
  for (std::size_t i = 0; i < kAuditors; ++i) rng_.fill(auditors_.emplace_back().bytes);
}

void RandomDisputes::beginning(const Address& operator_address, std::vector<Sent>& sent) {
  operator_ = operator_address;
  for (const auto* people : {&accusers_, &auditors_}) {
    for (const Address& one : *people) {
      sent.push_back({operator_, Deposit{one, Amount(kFunds), rng_.next_digest()}});
    }
  }
  for (const Address& one : auditors_) {
    sent.push_back({one, Fund{AccountKind::kStake, Amount(kFunds / 10)}});
    sent.push_back({one, Enlist{}});
  }
}

Digest RandomDisputes::commitment() { return protocol::commit_nonce(kNonce); }

Sent RandomDisputes::accuse(const State& state, const ticket::testing::Pair::Step& step) {
  const Address& accuser = accusers_[below(accusers_.size())];
  if (state.balance(accuser, AccountKind::kAvailable) < state.scalars.config.accusation_bond) {
    return {operator_, Deposit{accuser, Amount(kFunds), rng_.next_digest()}};
  }
  Digest inputs = rng_.next_digest();
  if (below(4) == 0) inputs[0] = ScriptedArbiter::kNotPlayed;
  return {accuser, Accuse{step.receipt, inputs, {}, step.output_root, step.output_salt}};
}

core::Bytes RandomDisputes::move() {
  using A = ScriptedArbiter;
  constexpr std::uint8_t kWords[] = {A::kProviderWrong,
                                     A::kAccuserWrong,
                                     A::kAccuserWrong,
                                     A::kAccuserWrong,
                                     A::kBothWrong,
                                     A::kUndecided,
                                     0};
  core::Bytes made(1 + below(40), 7);
  made[0] = below(3) == 0 ? kWords[below(std::size(kWords))] : A::kGoOn;
  return made;
}

/// Back on the list, with a stake, or off it.
Sent RandomDisputes::staff(const State& state, const Address& auditor) {
  const Amount& needed = state.scalars.config.auditor_stake;
  if (state.balance(auditor, AccountKind::kStake) >= needed) {
    return {auditor, Enlist{static_cast<std::uint8_t>(below(4) == 0 ? 0 : 1)}};
  }
  if (state.balance(auditor, AccountKind::kAvailable) >= needed) {
    return {auditor, Fund{AccountKind::kStake, needed}};
  }
  return {operator_, Deposit{auditor, Amount(kFunds), rng_.next_digest()}};
}

/// Now and then by somebody who was not called.
Sent RandomDisputes::report(const State& state, const CaseKey& key, const CaseRow& row) {
  if (row.report_ms == 0 && below(8) != 0) {
    const Digest receipt = protocol::receipt_id(row.dispute.receipt.body());
    if (below(2) == 0) return {auditors_[0], Disclose{receipt, kNonce}};
    return {below(8) == 0 ? auditors_[0] : operator_, Summon{key.subject, key.accuser}};
  }
  const Address& anybody = auditors_[below(auditors_.size())];
  const Address& auditor = row.called.empty() || below(8) == 0 ? anybody : row.called.front();
  if (state.bench.find(auditor) == nullptr || below(8) == 0) return staff(state, auditor);
  const bool agrees = below(8) != 0;
  return {auditor, Report{key.subject, key.accuser, agrees ? row.dispute.output_root : Digest{1}}};
}

Sent RandomDisputes::about(const State& state, const CaseKey& key, const CaseRow& row) {
  const Address& provider = row.dispute.receipt.job.provider;
  const std::uint64_t dice = below(32);
  if (dice == 0) return {provider, Concede{key.subject, key.accuser}};
  if (dice < 9) return {auditors_[0], Expire{key.subject, key.accuser}};
  if (dice < 14) return report(state, key, row);
  switch (row.status) {
    case CaseStatus::kAccused:
      return {provider, Contest{key.subject, key.accuser}};
    case CaseStatus::kContested:
      return {below(2) == 0 ? provider : key.accuser, Argue{key.subject, key.accuser, move()}};
    default:
      return report(state, key, row);
  }
}

Sent RandomDisputes::next(const State& state, const ticket::testing::Pair::Step& step) {
  const auto& rows = state.cases.rows();
  const auto pending = [](const auto& one) { return is_pending(one.second.status); };
  auto row = std::find_if(rows.lower_bound({rng_.next_digest(), {}}), rows.end(), pending);
  if (row == rows.end()) row = std::find_if(rows.begin(), rows.end(), pending);
  if (row == rows.end() || below(8) == 0) return accuse(state, step);
  return about(state, row->first, row->second);
}

}  // namespace commensal::ledger::testing
