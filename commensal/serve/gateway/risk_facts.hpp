// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/receipt_book.hpp>
#include <commensal/trade/market/risk/record.hpp>
#include <commensal/trade/pay/ledger/state.hpp>

namespace commensal::gateway {

/// What this gateway has seen of one provider, for anybody's risk desk.
struct RiskFacts {
  crypto::Address provider;
  std::vector<risk::Event> events;
  double pay = 0;  // expected value of the newest answer's ticket, in units; 0: it had none
};

/// Out of the newest limits::kRiskReceiptsMax receipts and the ledger of today: what was staked
/// before is not known, so that the stake stands first and the escrowed winnings last. An audit
/// counts at the time of its answer. Errors: the book's.
core::Result<RiskFacts> risk_facts(ReceiptBook& book, const ledger::State& state,
                                   const crypto::Address& provider);

/// The record that the events make. Errors: Prior::validity, Record::apply.
core::Result<risk::Record> record_of(const RiskFacts& facts, const risk::Prior& prior);

}  // namespace commensal::gateway
