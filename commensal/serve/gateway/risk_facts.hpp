// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/trade/market/risk/desk.hpp>
#include <commensal/trade/pay/ledger/state.hpp>
#include <deque>

namespace commensal::gateway {

/// What this gateway has seen of one provider, for anybody's risk desk.
struct RiskFacts {
  crypto::Address provider;
  std::vector<risk::Event> events;
  double pay = 0;  // expected value of the newest answer's ticket, in units; 0: it had none
};

/// What a provider has at stake: announced withdrawals answer for what they left.
protocol::Amount stake_of(const ledger::State& state, const crypto::Address& provider);

/// What a desk needs to know of one answer.
struct SeenAnswer {
  std::uint64_t number = 0;  // in the book
  crypto::Address provider;
  std::int64_t delivered_ms = 0;
  AuditState audit = AuditState::kNotDrawn;
  double pay = 0;  // expected value of its ticket; 0: it has none
  core::Digest ticket{};
};
SeenAnswer seen_of(const ReceiptRecord& record);

/// The facts in these answers, oldest first; those of other providers are passed over.
RiskFacts facts_in(const std::deque<SeenAnswer>& answers, const ledger::State& state,
                   const crypto::Address& provider);

/// Out of the newest limits::kRiskReceiptsMax receipts and the ledger of today: what was staked
/// before is not known, so that the stake stands first and the escrowed winnings last. An audit
/// counts at the time of its answer. Errors: the book's.
core::Result<RiskFacts> risk_facts(ReceiptBook& book, const ledger::State& state,
                                   const crypto::Address& provider);

/// The record that the events make. Errors: Prior::validity, Record::apply.
core::Result<risk::Record> record_of(const RiskFacts& facts, const risk::Prior& prior);

/// What a gateway's desk assumes of who uses an answer, in multiples of what the answer earns: not
/// measured, and stated wherever the desk is asked.
struct AuditTerms {
  double floor = 0.1;     // least probability of an audit
  double loss = 100;      // of using a wrong answer
  double redo_cost = 10;  // of having it computed by somebody trusted
  double audit_cost = 1;  // the step, once more
  double pay = 0;         // expected value of an answer's ticket today, in units; 0: it has none
};
/// What a step earns is the most that an honest one can cost; winners are audited before they are
/// paid.
risk::Policy policy_of(const RiskFacts& facts, const AuditTerms& terms);
risk::Use use_of(const RiskFacts& facts, const AuditTerms& terms);
/// Whether a wrong answer is a loss to a provider that has just come with the least stake.
struct Honesty {
  double saved = 0;   // by not computing: at most what the answer earns, in units
  double lost = 0;    // where that is found out, at least
  double audits = 0;  // share of its answers that must be audited so that it is a loss: above 1,
                      // none suffice
  double stake = 0;   // the least with which auditing all of them would
};
Honesty honesty_of(const protocol::Amount& stake, double pay, const AuditTerms& terms);

/// Errors: those of record_of and risk::assess.
core::Result<risk::Assessment> assess(const RiskFacts& facts, const AuditTerms& terms,
                                      std::uint64_t now_ms);

}  // namespace commensal::gateway
