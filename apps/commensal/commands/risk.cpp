// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/connection.hpp>
#include <apps/common/command.hpp>
#include <cmath>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/serve/gateway/risk_facts.hpp>
#include <commensal/serve/http/money_json.hpp>
#include <commensal/trade/market/risk/desk.hpp>
#include <commensal/trade/pay/ledger/book.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::AuditTerms;
using gateway::RiskFacts;
using Json = nlohmann::ordered_json;

/// What is known, and where a gateway was asked, by what terms it audits and how often.
struct Known {
  RiskFacts facts;
  AuditTerms terms{.floor = risk::Policy().audit_floor, .loss = 0, .redo_cost = 0, .audit_cost = 0};
  std::optional<double> audited = {};
};

struct RiskArguments {
  std::string provider;
  std::string folder;
  Connection connection;
  risk::Policy policy;
  risk::AnswerFacts answer;
  std::vector<double> bets;  // on right, on wrong, on right, ...
  bool explain = false;
  bool json = false;
};

Result<Known> facts_of_folder(const RiskArguments& options, const crypto::Address& provider) {
  const core::Path file = core::Path(options.folder) / "state.sqlite";
  if (!std::filesystem::exists(file)) {
    return fail(ErrorCode::kNotFound, "'{}' is not the folder of a gateway", options.folder);
  }
  COMMENSAL_ASSIGN(const auto store, store::open_sqlite_store(file));
  gateway::ReceiptBook receipts(*store);
  COMMENSAL_TRY(receipts.open());
  const ledger::Signatures signatures;
  COMMENSAL_ASSIGN(const ledger::Book book, ledger::Book::open(*store, signatures));
  COMMENSAL_ASSIGN(RiskFacts facts, gateway::risk_facts(receipts, book.state(), provider));
  return Known{.facts = std::move(facts)};
}

/// Nothing where the gateway is older than its desk.
Result<void> read_audits(const Json& json, Known& known) {
  const auto audits = json.find("audits");
  if (audits == json.end()) return {};
  double probability = 0;
  const std::pair<const char*, double*> numbers[] = {{"floor", &known.terms.floor},
                                                     {"loss", &known.terms.loss},
                                                     {"redo_cost", &known.terms.redo_cost},
                                                     {"audit_cost", &known.terms.audit_cost},
                                                     {"probability", &probability}};
  for (const auto& [name, number] : numbers) {
    const auto found = audits->is_object() ? audits->find(name) : audits->end();
    if (!audits->is_object() || found == audits->end() || !found->is_number()) {
      return fail(ErrorCode::kDataLoss, "the gateway's audits have no number '{}'", name);
    }
    *number = found->get<double>();
  }
  known.audited = probability;
  return {};
}

Result<Known> facts_of_gateway(const RiskArguments& options, const crypto::Address& provider) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(const std::string text, client.get_json(fmt::format("/v1/providers/{}/facts",
                                                                       crypto::to_text(provider))));
  const Json json = Json::parse(text, nullptr, false);
  const auto events = json.is_object() ? json.find("events") : json.end();
  const auto pay = json.is_object() ? json.find("pay") : json.end();
  const bool whole = json.is_object() && events != json.end() && events->is_array() &&
                     pay != json.end() && pay->is_number();
  if (!whole || events->size() > limits::kRiskEventsMax)
    return fail(ErrorCode::kDataLoss, "the gateway's answer has no facts, expected events and pay");
  Known known{.facts = {provider, {}, pay->get<double>()}};
  COMMENSAL_TRY(read_audits(json, known));
  for (const Json& event : *events) {
    if (!event.is_string())
      return fail(ErrorCode::kDataLoss,
                  "the gateway's events are no texts: it is of another version");
    COMMENSAL_ASSIGN(const core::Bytes bytes, core::from_hex(event.get_ref<const std::string&>()));
    COMMENSAL_ASSIGN(known.facts.events.emplace_back(), protocol::decode<risk::Event>(bytes));
  }
  return known;
}

void print_json(const Known& known, const risk::Assessment& made) {
  Json figures = Json::array();
  for (const risk::Figure* figure : risk::figures_of(made))
    figures.push_back(Json::parse(http::figure_json(*figure)));
  const Json json = {{"provider", crypto::to_text(known.facts.provider)},
                     {"deterred", made.deterred},
                     {"gateway_audit_probability", known.audited ? Json(*known.audited) : Json()},
                     {"figures", std::move(figures)}};
  fmt::print("{}\n", json.dump(2));
}

void print_table(const Known& known, const risk::Assessment& made, bool explain) {
  for (const risk::Figure* figure : risk::figures_of(made)) {
    if (explain) {
      fmt::print("{}\n", risk::to_table(*figure));
    } else {
      fmt::print("{:<28} {:>14.6g}   {}\n", figure->name, figure->value, figure->formula);
    }
  }
  fmt::print("{:<28} {:>14}   {}\n", "deterred", made.deterred ? "yes" : "no",
             made.deterred ? "where a caught cheat loses S: a ledger may take less (--lost-share)"
                           : "not even auditing every answer suffices: more stake is needed");
  if (known.audited) {
    fmt::print("{:<28} {:>14.6g}   {}\n", "the gateway audits", *known.audited,
               "probability of the next answer, its ticket's win apart");
  }
}

/// What was not asked for is as the gateway has it.
void fill_in(const Known& known, risk::Policy& policy, risk::Use& use) {
  const risk::Policy policy_there = gateway::policy_of(known.facts, known.terms);
  const risk::Use use_there = gateway::use_of(known.facts, known.terms);
  const std::pair<double*, double> numbers[] = {
      {&policy.audit_floor, policy_there.audit_floor},
      {&policy.lazy.step_cost, policy.lazy.pay < 0 ? policy_there.lazy.pay : policy.lazy.pay},
      {&policy.lazy.pay, policy_there.lazy.pay},
      {&use.loss, use_there.loss},
      {&use.redo_cost, use_there.redo_cost},
      {&use.audit_cost, use_there.audit_cost}};
  for (const auto& [number, there] : numbers) {
    if (*number < 0) *number = there;
  }
  policy.malice.step_cost = policy.lazy.step_cost;
}

Result<int> show_risk(RiskArguments& options) {
  COMMENSAL_ASSIGN(const crypto::Address provider, crypto::address_from_text(options.provider));
  COMMENSAL_ASSIGN(const Known known, options.folder.empty() ? facts_of_gateway(options, provider)
                                                             : facts_of_folder(options, provider));
  COMMENSAL_ASSIGN(const risk::Record record, gateway::record_of(known.facts, risk::Prior()));
  risk::Policy& policy = options.policy;
  fill_in(known, policy, options.answer.use);
  for (std::size_t i = 0; i + 1 < options.bets.size(); i += 2)
    options.answer.evidence.bets.push_back({options.bets[i], options.bets[i + 1], 0.5});
  const core::SystemClock clock;
  const auto now_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(clock.wall_ms(), 0));
  COMMENSAL_ASSIGN(const risk::Assessment made,
                   risk::assess(record, now_ms, policy, options.answer));
  if (options.json) {
    print_json(known, made);
  } else {
    print_table(known, made, options.explain);
  }
  return 0;
}

void declare_numbers(CLI::App& app, RiskArguments& options) {
  risk::Policy& policy = options.policy;
  risk::AnswerFacts& answer = options.answer;
  const struct {
    const char* name;
    double* value;
    const char* what;
  } numbers[] = {
      {"--loss", &answer.use.loss,
       "What using a wrong answer costs you; negative: as the gateway assumes"},
      {"--redo-cost", &answer.use.redo_cost, "What a trusted computation of it costs; likewise"},
      {"--audit-cost", &answer.use.audit_cost, "What an audit costs; likewise"},
      {"--face", &answer.claim.face, "Face value of a claim that you are offered"},
      {"--win", &answer.claim.win, "Probability that it wins, if it is not drawn yet"},
      {"--wait-days", &answer.claim.wait_days, "Days until it is paid"},
      {"--interest", &answer.claim.interest_per_day, "Interest per day of waiting"},
      {"--pay", &policy.lazy.pay, "Pay of a step; negative: as on its newest ticket"},
      {"--step-cost", &policy.lazy.step_cost, "Cost of an honest step; negative: its pay"},
      {"--cheat-cost", &policy.lazy.cheat_cost, "Cost of a cheated step"},
      {"--steps", &policy.malice.steps, "Steps of a rollout"},
      {"--absorbed-cost", &policy.malice.absorbed_cost, "Cost of a step in a cheap state"},
      {"--bribe", &policy.malice.bribe, "What somebody outside pays for a wrong answer"},
      {"--collusion", &policy.collusion, "Probability that an auditor colludes"},
      {"--lost-share", &policy.lost_share, "Share of the stake that a mismatch costs"},
      {"--audit-floor", &policy.audit_floor, "Least probability of an audit; likewise"},
  };
  for (const auto& number : numbers)
    app.add_option(number.name, *number.value, number.what)->capture_default_str();
  app.add_option("--bet", options.bets, "What others stake: on right, on wrong; may be repeated")
      ->type_size(2)
      ->expected(1, 16);
  app.add_flag("--paid-unaudited", policy.lazy.paid_unaudited,
               "Steps are paid whether they are audited or not");
}

}  // namespace

Run declare_risk(CLI::App& app) {
  const auto options = std::make_shared<RiskArguments>();
  options->policy.lazy.pay = options->policy.lazy.step_cost = options->policy.audit_floor = -1;
  risk::Use& use = options->answer.use;
  use.loss = use.redo_cost = use.audit_cost = -1;
  options->policy.lazy.paid_unaudited = false;  // tickets: winners are audited
  app.add_option("provider", options->provider, "Its address")->required();
  app.add_option("--data-dir", options->folder,
                 "Folder of a gateway, instead of a gateway that is asked");
  declare_numbers(app, *options);
  app.add_flag("--explain", options->explain, "Print what each number is made of");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON, with all that --explain prints");
  return [options] { return show_risk(*options); };
}

}  // namespace commensal::apps
