// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/claim_desk.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <string>

/// Money and tickets as JSON. Amounts are decimal texts, since numbers of JSON readers end at 2^53;
/// what is infinite is null. Pure functions.
namespace commensal::http {

/// What an owner has, what is on its way out, and what its next transaction has to say. `name` is
/// "" for an owner that is no account of the gateway. `is_test`: it is test money.
std::string balances_json(const ledger::State& state, const crypto::Address& owner,
                          const std::string& name, bool is_test);
/// The whole ledger: sums by kind of account, rules, and what answers cost and earn.
std::string ledger_json(const ledger::State& state, const gateway::MoneyConfig& money);
std::string tickets_json(const ticket::Summary& summary, const ticket::Totals* totals);
/// A figure of the desk with its terms.
std::string figure_json(const risk::Figure& figure);
std::string claim_json(const gateway::OpenClaim& claim);
/// What the desk says of one answer.
std::string quote_json(const gateway::ReceiptRecord& record, const gateway::Quote& quote);

}  // namespace commensal::http
