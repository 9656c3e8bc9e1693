// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/connection.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/commensal/money_requests.hpp>
#include <apps/common/action.hpp>
#include <apps/common/command.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

struct ClaimArguments {
  std::string action = "list";
  std::string what;   // a ticket, or a receipt
  std::string price;  // "": not given
  std::string after;
  std::size_t count = 20;
  bool all = false;
  SignerOptions signer;
  Connection connection;
  bool json = false;
};

Result<core::Digest> named(const ClaimArguments& options, std::string_view kind) {
  auto id = core::digest_from_hex(options.what);
  if (id) return *id;
  return fail(ErrorCode::kInvalidArgument,
              "expected: claim {} {}, 64 hexadecimal digits, found '{}'", options.action, kind,
              options.what);
}

Result<Json> get(client::Client& client, const std::string& target) {
  COMMENSAL_ASSIGN(const std::string text, client.get_json(target));
  return parse_answer(text);
}

Result<int> list(const ClaimArguments& options, client::Client& client) {
  std::string target = fmt::format("/v1/claims?for_sale={}&limit={}", !options.all, options.count);
  if (!options.after.empty()) target += "&after=" + options.after;
  COMMENSAL_ASSIGN(const Json json, get(client, target));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  if (json.value("claims", Json::array()).empty()) {
    fmt::print("{}\n", options.all ? "no claim is open" : "no claim is for sale");
    return 0;
  }
  fmt::print("{:<64}  {:>12}  {:>12}  {:>9}  {:>12}  {:<10}  {}\n", "TICKET", "PAYS", "ASKED",
             "P(RIGHT)", "WORTH", "AUDIT", "MODEL");
  for (const Json& claim : json.value("claims", Json::array())) {
    const Json quote = claim.is_object() ? claim.value("quote", Json()) : Json();
    const bool is_accused = number_in(claim, "accusations") > 0;
    fmt::print("{:<64}  {:>12}  {:>12}  {:>9.6f}  {:>12.0f}  {:<10}  {}\n",
               text_in(claim, "ticket"), text_in(claim, "face_value"), text_in(claim, "asked"),
               number_in(quote, "right"), number_in(quote, "claim_price"),
               is_accused ? "accused" : text_in(claim, "audit"), text_in(claim, "model"));
  }
  return 0;
}

Result<int> quote(const ClaimArguments& options, client::Client& client) {
  COMMENSAL_ASSIGN(const core::Digest receipt, named(options, "RECEIPT"));
  COMMENSAL_ASSIGN(const Json json,
                   get(client, fmt::format("/v1/receipts/{}/quote", core::to_hex(receipt))));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
    return 0;
  }
  fmt::print("ticket    {}\nprovider  {}\npays      {}, if it wins\naudit     {}\n",
             text_in(json, "ticket"), text_in(json, "provider"), text_in(json, "face_value"),
             text_in(json, "audit"));
  for (const char* name : {"right", "value_of_audit", "claim_price"}) {
    const Json figure = json.value(name, Json::object());
    fmt::print("{:<28} {:>14.6g}   {}\n", text_in(figure, "name"), number_in(figure, "value"),
               text_in(figure, "formula"));
    for (const Json& term : figure.value("terms", Json::array())) {
      fmt::print("  {:<26} {:>14.6g}   {}\n", text_in(term, "name"), number_in(term, "value"),
                 text_in(term, "meaning"));
    }
  }
  fmt::print("{:<28} {:>14.6g}   of the provider's next answer, its ticket's win apart\n",
             "the gateway audits", number_in(json, "audit_probability"));
  return 0;
}

/// Sell or Buy: what is signed says which ticket, and for how much.
template <class Body>
Result<int> send(const ClaimArguments& options, client::Client& client) {
  Body body;
  COMMENSAL_ASSIGN(body.ticket, named(options, "TICKET"));
  const auto price = protocol::amount_from_text(options.price);
  if (!price) {
    return fail(ErrorCode::kInvalidArgument,
                "--price '{}', expected units: an integer from 0 to 2^128 - 1", options.price);
  }
  body.price = *price;
  COMMENSAL_ASSIGN(const crypto::SecretKey key, options.signer.key());
  COMMENSAL_ASSIGN(Json now, balances_of(client, crypto::to_text(key.address())));
  COMMENSAL_ASSIGN(now, send_transaction(client, key, now, std::move(body)));
  if (options.json) {
    fmt::print("{}\n", now.dump(2));
  } else {
    print_balances(now);
  }
  return 0;
}

struct Action {
  std::string_view name;
  Result<int> (*run)(const ClaimArguments& options, client::Client& client);
};
constexpr Action kActions[] = {
    {"list", list}, {"quote", quote}, {"sell", send<ledger::Sell>}, {"buy", send<ledger::Buy>}};

Result<int> claim(const ClaimArguments& options) {
  COMMENSAL_ASSIGN(const Action* const action, find_action<Action>(kActions, options.action));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  return action->run(options, client);
}

}  // namespace

Run declare_claim(CLI::App& app) {
  const auto options = std::make_shared<ClaimArguments>();
  CLI::Option* const action =
      app.add_option(
             "action", options->action,
             "list (what is for sale); quote RECEIPT (what its answer and its ticket are worth "
             "by the gateway's risk desk); sell TICKET (its holder offers it; at 0 no longer); "
             "buy TICKET (at just the price asked: what it pays is yours then, and its risk)")
          ->capture_default_str();
  offer_actions<Action>(*action, kActions);
  app.add_option("what", options->what, "Id of a ticket, or of a receipt");
  app.add_option("--price", options->price, "Units that are asked, or paid");
  app.add_flag("--all", options->all, "List all open claims, for sale or not");
  app.add_option("--count", options->count, "How many are listed")
      ->check(CLI::Range(std::size_t{1}, limits::kClaimsListedMax))
      ->capture_default_str();
  app.add_option("--after", options->after, "List from behind this ticket on");
  options->signer.declare(app);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return claim(*options); };
}

}  // namespace commensal::apps
