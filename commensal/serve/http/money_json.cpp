// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/serve/http/json_parts.hpp>
#include <commensal/serve/http/money_json.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>

namespace commensal::http {

namespace {

using Json = nlohmann::ordered_json;
using ledger::AccountKind;
using protocol::Amount;
using protocol::to_text;

Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json rules_of(const ledger::Config& rules) {
  return {{"chain_id", rules.chain_id},
          {"withdrawal_delay_ms", rules.withdrawal_delay_ms},
          {"reveal_delay_ms", rules.reveal_delay_ms},
          {"absence_delay_ms", rules.absence_delay_ms},
          {"audit_delay_ms", rules.audit_delay_ms},
          {"opening_rounds", rules.opening_rounds},
          {"pattern_mismatches", rules.pattern_mismatches},
          {"pardon_matches", rules.pardon_matches},
          {"auditor_fee", to_text(rules.auditor_fee)},
          {"auditor_bounty", to_text(rules.auditor_bounty)},
          {"penalty", to_text(rules.penalty)},
          {"credit_cap", to_text(rules.credit_cap)},
          {"accusation_bond", to_text(rules.accusation_bond)},
          {"contest_delay_ms", rules.contest_delay_ms},
          {"move_delay_ms", rules.move_delay_ms},
          {"dispute_delay_ms", rules.dispute_delay_ms},
          {"auditor_stake", to_text(rules.auditor_stake)},
          {"reports_needed", rules.reports_needed},
          {"report_delay_ms", rules.report_delay_ms}};
}

Json terms_of(const gateway::MoneyConfig& money) {
  const auto threshold = ticket::threshold_of(money.win_probability);
  const Amount value = threshold ? ticket::expected_value(money.face_value, *threshold) : Amount();
  return {{"price", to_text(money.price)},
          {"face_value", to_text(money.face_value)},
          {"win_probability", money.win_probability},
          {"ticket_value", to_text(value)},
          {"stake_min", to_text(money.stake_min)},
          {"round_ms", money.round_ms},
          {"test_money", money.test.is_so}};
}

Json totals_of(const ticket::Totals& totals) {
  const ticket::Statistics more = ticket::statistics(totals);
  return {{"issued", totals.issued},
          {"lost", totals.lost},
          {"won", totals.won},
          {"paid", totals.paid},
          {"penalised", totals.penalised},
          {"slashed", totals.slashed},
          {"void", totals.voided},
          {"expected", to_text(totals.expected)},
          {"deviation", more.deviation},
          {"value_won", to_text(totals.value_won)},
          {"deviations", more.deviations},
          {"value_paid", to_text(totals.value_paid)},
          {"wait_ms_mean", more.wait_ms_mean},
          {"tickets_per_payment", more.tickets_per_payment}};
}

Json json_of(const risk::Figure& figure) {
  Json terms = Json::array();
  for (const risk::Term& term : figure.terms) {
    terms.push_back(
        {{"name", term.name}, {"value", finite(term.value)}, {"meaning", term.meaning}});
  }
  return {{"name", figure.name},
          {"value", finite(figure.value)},
          {"formula", figure.formula},
          {"source", figure.source},
          {"terms", std::move(terms)}};
}

}  // namespace

std::string balances_json(const ledger::State& state, const crypto::Address& owner,
                          const std::string& name, bool is_test) {
  Json balances = Json::object();
  const auto& rows = state.balances.rows();
  for (auto row = rows.lower_bound({owner, AccountKind::kAvailable});
       row != rows.end() && row->first.owner == owner; ++row) {
    balances[std::string(protocol::name_of(row->first.kind))] = to_text(row->second);
  }
  Json announced = Json::array();
  const auto& leaving = state.announcements.rows();
  for (auto row = leaving.lower_bound({owner, 0});
       row != leaving.end() && row->first.owner == owner; ++row) {
    announced.push_back({{"number", row->first.number},
                         {"from", protocol::name_of(row->second.from)},
                         {"amount", to_text(row->second.amount)},
                         {"release_ms", row->second.release_ms}});
  }
  // As an auditor who may be drawn.
  const ledger::BenchRow* const listed = state.bench.find(owner);
  return text_of({{"owner", crypto::to_text(owner)},
                  {"name", name},
                  {"ledger", crypto::to_text(state.scalars.config.operator_address)},
                  {"test_money", is_test},
                  {"nonce", state.nonces.get(owner)},
                  {"balances", balances},
                  {"listed", listed == nullptr ? Json() : Json(to_text(listed->stake))},
                  {"announcements", announced}});
}

std::string ledger_json(const ledger::State& state, const gateway::MoneyConfig& money) {
  std::map<AccountKind, Amount> sums;
  for (const auto& [account, amount] : state.balances.rows()) {
    Amount& sum = sums[account.kind];
    sum = sum.plus(amount).value_or(sum);  // the ledger's invariant: it fits
  }
  Json totals = Json::object();
  for (const auto& [kind, sum] : sums) totals[std::string(protocol::name_of(kind))] = to_text(sum);
  return text_of({{"operator", crypto::to_text(state.scalars.config.operator_address)},
                  {"entries", state.scalars.entries},
                  {"head", core::to_hex(state.scalars.head)},
                  {"time_ms", state.scalars.time_ms},
                  {"totals", totals},
                  {"terms", terms_of(money)},
                  {"rules", rules_of(state.scalars.config)}});
}

std::string tickets_json(const ticket::Summary& summary, const ticket::Totals* totals) {
  Json counts = Json::object();
  const auto names = ticket::enum_names(ticket::State{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    counts[std::string(names[i])] = summary.counts[i];
  }
  Json made = {{"tickets", counts},
               {"expected", to_text(summary.expected)},
               {"deviation", summary.deviation},
               {"claims_pending", summary.claims},
               {"claims_value", to_text(summary.claimed)},
               {"tickets_per_second", summary.per_second},
               {"seconds_to_payment", finite(summary.seconds_to_payment)}};
  if (totals != nullptr) made["ever"] = totals_of(*totals);
  return text_of(made);
}

std::string figure_json(const risk::Figure& figure) { return text_of(json_of(figure)); }

std::string claim_json(const gateway::OpenClaim& claim) {
  const ledger::ClaimRow& row = claim.row;
  const risk::Assessment& made = claim.quote.made;
  return text_of({{"ticket", core::to_hex(claim.ticket)},
                  {"receipt", core::to_hex(row.receipt)},
                  {"model", claim.model.empty() ? Json(nullptr) : Json(claim.model)},
                  {"provider", crypto::to_text(row.provider)},
                  {"holder", crypto::to_text(row.holder)},
                  {"face_value", to_text(row.face)},
                  {"asked", claim.asked ? Json(to_text(*claim.asked)) : Json(nullptr)},
                  {"mature_ms", row.mature_ms},
                  {"audit", name_of(claim.audit)},
                  {"accusations", claim.accusations},
                  {"quote",
                   {{"right", made.right.value},
                    {"claim_price", made.claim_price.value},
                    {"audit_probability", claim.quote.audit_probability}}}});
}

std::string quote_json(const gateway::ReceiptRecord& record, const gateway::Quote& quote) {
  const risk::Assessment& made = quote.made;
  return text_of({{"receipt", core::to_hex(record.id())},
                  {"ticket", core::to_hex(protocol::ticket_id(record.receipt.body()))},
                  {"provider", crypto::to_text(record.receipt.job.provider)},
                  {"face_value", to_text(record.receipt.job.face_value)},
                  {"audit", name_of(record.audit)},
                  {"audit_probability", quote.audit_probability},
                  {"right", json_of(made.right)},
                  {"value_of_audit", json_of(made.value_of_audit)},
                  {"claim_price", json_of(made.claim_price)}});
}

}  // namespace commensal::http
