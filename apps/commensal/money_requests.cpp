// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/money_requests.hpp>
#include <apps/common/summary.hpp>

namespace commensal::apps {
namespace {

constexpr int kWidth = 39;  // of 2^128 - 1

const Json& member(const Json& json, const char* name) {
  static const Json kNone;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : kNone;
}

std::string plain(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.is_null() ? "" : value.dump();
}

void print_members(const Json& json, std::string_view indent = "") {
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    fmt::print("{}{:<20} {:>{}}\n", indent, name, plain(value), kWidth);
  }
}

std::string duration(const Json& seconds) {
  const double value = seconds.get<double>();
  if (value < 120) return fmt::format("{:.1f} s", value);
  if (value < 7200) return fmt::format("{:.1f} min", value / 60);
  return fmt::format("{:.1f} h", value / 3600);
}

}  // namespace

core::Result<Json> parse_answer(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_object()) return json;
  return core::fail(core::ErrorCode::kDataLoss, "the gateway's answer is no JSON object");
}

std::string text_in(const Json& json, const char* name) { return plain(member(json, name)); }

double number_in(const Json& json, const char* name) {
  const Json& value = member(json, name);
  return value.is_number() ? value.get<double>() : 0;
}

core::Result<Json> post_json(client::Client& client, const std::string& target, const Json& body) {
  const std::string sent = body.dump();
  COMMENSAL_ASSIGN(const std::string text,
                   client.post(target, "application/json", core::as_bytes(sent)));
  return parse_answer(text);
}

core::Result<Json> balances_of(client::Client& client, const std::string& owner) {
  COMMENSAL_ASSIGN(const std::string text,
                   client.get_json("/v1/balances" + (owner.empty() ? "" : "?owner=" + owner)));
  return parse_answer(text);
}

core::Result<Json> send_transaction(client::Client& client, const crypto::SecretKey& key,
                                    const Json& now, ledger::Body body) {
  ledger::Transaction made;
  COMMENSAL_ASSIGN(made.ledger, crypto::address_from_text(text_in(now, "ledger")));
  made.sender = key.address();
  made.nonce = now.value("nonce", std::uint64_t{0});
  made.body = std::move(body);
  ledger::sign(key, made);
  COMMENSAL_ASSIGN(
      const std::string text,
      client.post("/v1/transactions", "application/octet-stream", protocol::encode(made)));
  return parse_answer(text);
}

void print_balances(const Json& balances) {
  const std::string name = text_in(balances, "name");
  const bool is_test = member(balances, "test_money") == true;
  fmt::print("{}{}{}\n", text_in(balances, "owner"), name.empty() ? "" : "  " + name,
             is_test ? "  (test money)" : "");
  const Json& kinds = member(balances, "balances");
  if (kinds.empty()) fmt::print("has nothing in this ledger\n");
  print_members(kinds);
  for (const Json& item : member(balances, "announcements")) {
    fmt::print("withdrawal {:<9} {:>{}}  of {}, free at {}\n", text_in(item, "number"),
               text_in(item, "amount"), kWidth, text_in(item, "from"),
               utc_text(static_cast<std::int64_t>(number_in(item, "release_ms"))));
  }
}

void print_ledger(const Json& ledger) {
  fmt::print("operator {}\nentries  {}\nhead     {}\n", text_in(ledger, "operator"),
             text_in(ledger, "entries"), text_in(ledger, "head"));
  for (const char* part : {"totals", "terms", "rules"}) {
    fmt::print("{}\n", part);
    print_members(member(ledger, part), "  ");
  }
}

void print_tickets(const Json& tickets) {
  fmt::print("{:<14} {:>12}\n", "STATE", "TICKETS");
  bool has_some = false;
  for (const auto& [state, count] : member(tickets, "tickets").items()) {
    if (count.is_number() && count.get<std::uint64_t>() > 0) {
      has_some = true;
      fmt::print("{:<14} {:>12}\n", state, count.get<std::uint64_t>());
    }
  }
  fmt::print("not drawn yet  worth {} on average, standard deviation {:.0f}\n",
             text_in(tickets, "expected"), number_in(tickets, "deviation"));
  fmt::print("claims         {} pending, worth {}\n", text_in(tickets, "claims_pending"),
             text_in(tickets, "claims_value"));
  const Json& wait = member(tickets, "seconds_to_payment");
  fmt::print("next payment   {}\n",
             wait.is_number() ? fmt::format("in {} on average, at {:.3g} tickets/s", duration(wait),
                                            number_in(tickets, "tickets_per_second"))
             : has_some       ? "none at this rate"
                              : "no tickets yet");
  const Json& ever = member(tickets, "ever");
  if (ever.is_null()) return;
  fmt::print("ever           {} issued, {} won, worth {}; expected {}, deviation {:.0f}\n",
             text_in(ever, "issued"), text_in(ever, "won"), text_in(ever, "value_won"),
             text_in(ever, "expected"), number_in(ever, "deviation"));
  fmt::print("paid           {} of them, {} in all, {:.1f} s after the answer on average\n",
             text_in(ever, "paid"), text_in(ever, "value_paid"),
             number_in(ever, "wait_ms_mean") / 1000);
}

}  // namespace commensal::apps
