// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/account_actions.hpp>
#include <apps/common/action.hpp>
#include <apps/common/command.hpp>
#include <apps/common/complaint.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/amount.hpp>
#include <map>
#include <memory>

namespace commensal::apps {
namespace {

using core::Result;

void print_account(const client::AccountInfo& account) {
  fmt::print("{:<32} {}\n", account.name, account.role);
}

/// Saves a new token or, where no file was named or writing fails nevertheless, prints it.
Result<int> give_token(const AccountArguments& options, const client::AccountInfo& account) {
  Result<void> saved;
  if (!options.save.empty()) {
    saved = core::write_file_atomically(options.save, core::as_bytes(account.token + "\n"), 0600);
  }
  const bool is_hidden = saved && !options.save.empty();
  Json json = {{"name", account.name}, {"role", account.role}};
  if (!is_hidden) json["token"] = account.token;
  if (!account.test_credit.empty()) json["test_credit"] = account.test_credit;
  if (!account.price.empty()) json["price"] = account.price;
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else if (is_hidden) {
    print_account(account);
  } else {
    fmt::print("{}\n", account.token);
  }
  tell_credit(options, account);
  if (!saved) return tl::unexpected(saved.error());
  if (const auto shown = check_output(); !shown) {
    if (!is_hidden) fmt::print(stderr, "{}\n", account.token);
    return tl::unexpected(shown.error());
  }
  return 0;
}

Result<int> create(const AccountArguments& options, client::Client& client) {
  if (options.name.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "expected: account create NAME");
  }
  COMMENSAL_TRY(check_save(options, false));
  COMMENSAL_ASSIGN(const client::AccountInfo account,
                   client.create_account(options.name, options.is_operator  ? "operator"
                                                       : options.is_auditor ? "auditor"
                                                                            : "consumer"));
  return give_token(options, account);
}

Result<int> rotate(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_save(options, true));
  COMMENSAL_ASSIGN(const client::AccountInfo account, client.renew_token(options.name));
  return give_token(options, account);
}

Result<int> remove_account(const AccountArguments& options, client::Client& client) {
  if (options.name.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "expected: account delete NAME");
  }
  COMMENSAL_TRY(client.remove_account(options.name));
  if (options.json) {
    fmt::print("{}\n", Json({{"name", options.name}, {"removed", true}}).dump());
  } else {
    fmt::print("{} is removed\n", options.name);
  }
  return 0;
}

Result<int> list(const AccountArguments& options, client::Client& client) {
  COMMENSAL_ASSIGN(const std::vector<client::AccountInfo> accounts, client.accounts());
  if (options.json) {
    Json all = Json::array();
    for (const client::AccountInfo& account : accounts) {
      all.push_back({{"name", account.name}, {"role", account.role}});
    }
    fmt::print("{}\n", Json({{"accounts", std::move(all)}}).dump());
    return 0;
  }
  for (const client::AccountInfo& account : accounts) print_account(account);
  return 0;
}

Result<int> who_am_i(const AccountArguments& options, client::Client& client) {
  if (options.json) {
    COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/account"));
    fmt::print("{}\n", text);
    return 0;
  }
  COMMENSAL_ASSIGN(const client::AccountInfo account, client.who_am_i());
  print_account(account);
  return 0;
}

Result<int> show_balances(const AccountArguments& options, Result<Json> balances) {
  if (!balances) return tl::unexpected(balances.error());
  if (options.json) {
    fmt::print("{}\n", balances->dump(2));
  } else {
    print_balances(*balances);
  }
  return 0;
}

Result<int> balance(const AccountArguments& options, client::Client& client) {
  return show_balances(options, balances_of(client, options.name));
}

/// Whoever mistypes an address gives its money to nobody: one that this gateway has never seen, as
/// a provider or in its ledger, has to be confirmed.
Result<void> check_owner(const AccountArguments& options, client::Client& client) {
  if (!options.name.starts_with("0x") || options.is_sure) return {};
  COMMENSAL_ASSIGN(const Json known, balances_of(client, options.name));
  if (!known.value("balances", Json()).empty() || known.value("nonce", 0) > 0) return {};
  COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/providers"));
  COMMENSAL_ASSIGN(const Json all, parse_answer(text));
  for (const Json& one : all.value("providers", Json::array())) {
    if (text_in(one, "address") == text_in(known, "owner")) return {};
  }
  return core::fail(core::ErrorCode::kFailedPrecondition,
                    "this gateway has never seen {}: look at it again; --yes if it is right",
                    text_in(known, "owner"));
}

/// An order of the operator: where to, and what its first word is called there.
struct Order {
  std::string_view action;
  const char* target;
  const char* subject;
};
constexpr Order kOrders[] = {{"deposit", "/v1/deposits", "owner"},
                             {"withdraw", "/v1/withdrawals", "account"},
                             {"lock", "/v1/locks", "into"},
                             {"grant", "/v1/credits", "owner"}};

/// Where the gateway's own money does not reach: the order that helps.
void add_next_step(const AccountArguments& options, core::Error& error) {
  const auto lacks = [&](std::string_view what) {
    return error.message.find(what) != std::string::npos;
  };
  const char* const first = lacks("overdraft: credit_pool") ? "lock credit_pool"
                            : options.action == "lock" && lacks("overdraft: available")
                                ? "deposit @gateway"
                                : nullptr;
  if (first == nullptr) return;
  error.message += fmt::format("; `account {} {}` puts it there", first, options.amount);
}

Result<int> order(const AccountArguments& options, client::Client& client) {
  const auto* row = std::ranges::find(kOrders, options.action, &Order::action);
  if (options.name.empty() || options.amount.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "expected: account {} {} AMOUNT",
                      row->action, row->subject);
  }
  if (const auto amount = protocol::amount_from_text(options.amount);
      !amount || *amount == protocol::Amount()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "amount: '{}', expected an integer from 1 to 2^128 - 1", options.amount);
  }
  COMMENSAL_TRY(check_owner(options, client));
  Json body = {{row->subject, options.name}, {"amount", options.amount}};
  if (row->action == "deposit") {
    core::SystemRng rng;
    const bool named = !options.reference.empty();
    body["reference"] = named ? options.reference : core::to_hex(rng.next_digest());
  }
  auto balances = post_json(client, row->target, body);
  if (!balances) add_next_step(options, balances.error());
  return show_balances(options, std::move(balances));
}

Result<int> totals(const AccountArguments& options, client::Client& client) {
  COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/ledger"));
  COMMENSAL_ASSIGN(const Json json, parse_answer(text));
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    print_ledger(json);
  }
  return 0;
}

struct Action {
  std::string_view name;
  Result<int> (*run)(const AccountArguments& options, client::Client& client);
};
constexpr Action kActions[] = {{"create", create},
                               {"list", list},
                               {"whoami", who_am_i},
                               {"delete", remove_account},
                               {"rotate", rotate},
                               {"tokens", list_tokens},
                               {"token", make_token},
                               {"revoke", end_token},
                               {"invite", invite},
                               {"invitations", list_invitations},
                               {"uninvite", end_invitation},
                               {"signup", sign_up},
                               {"log", list_acts},
                               {"balance", balance},
                               {"deposit", order},
                               {"withdraw", order},
                               {"lock", order},
                               {"grant", order},
                               {"ledger", totals}};

Result<int> account(const AccountArguments& options) {
  COMMENSAL_ASSIGN(const Action* const action, find_action<Action>(kActions, options.action));
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  return action->run(options, client);
}

/// Of tokens and invitations.
void declare_tokens(CLI::App& app, AccountArguments& options) {
  app.add_option("--of", options.of, "For operators: the account whose tokens are meant");
  app.add_option("--scopes", options.scopes,
                 "All that a new token is good for: some of infer, receipts, models, money, "
                 "audits, accounts, metrics, with commas between (default: all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--expires-in", options.expires_in_s,
                 "A new token, or invitation, is good for so long: seconds, or 12h, 30d (default: "
                 "for ever)")
      ->transform(CLI::AsNumberWithUnit(
          std::map<std::string, std::int64_t>{{"s", 1}, {"m", 60}, {"h", 3'600}, {"d", 86'400}}))
      ->check(CLI::PositiveNumber);
  app.add_option("--uses", options.uses, "Accounts that an invitation may make")
      ->capture_default_str();
  app.add_option("--credit", options.credit,
                 "Test money that each of them gets (default: as a new account does)");
  app.add_option("--code-file", options.code_file,
                 "The code of the invitation for signup (or $COMMENSAL_INVITATION); without one "
                 "where sign-up is open");
  app.add_option("--count", options.count, "Acts of the log")
      ->check(CLI::Range(std::size_t{1}, limits::kOperatorActsListedMax))
      ->capture_default_str();
}

}  // namespace

Run declare_account(CLI::App& app) {
  const auto options = std::make_shared<AccountArguments>();
  CLI::Option* const action =
      app.add_option("action", options->action,
                     "whoami; tokens, token LABEL (one more), revoke LABEL, rotate (a new token in "
                     "place of all); signup NAME; balance [OWNER]; ledger (sums and terms). For "
                     "operators: create NAME (prints the token), list, rotate NAME, delete NAME, "
                     "invite LABEL, invitations, uninvite LABEL, log (of operators' acts), "
                     "deposit OWNER AMOUNT, withdraw NAME AMOUNT (paid out), "
                     "lock escrow|penalty_escrow|credit_pool AMOUNT (the gateway's own), "
                     "grant OWNER AMOUNT (free credit)")
          ->capture_default_str();
  offer_actions<Action>(*action, kActions);
  app.add_option("name", options->name,
                 "Account [a-z0-9_-], a letter first; an OWNER is also 0x..., @gateway, @auditor");
  app.add_option("amount", options->amount, "Units: an integer from 1 to 2^128 - 1");
  app.add_option("--reference", options->reference,
                 "Names the payment of a deposit; each is booked once (default: a random one)");
  app.add_flag("--yes", options->is_sure, "Money may go to an address that was never seen here");
  app.add_flag("--auditor", options->is_auditor, "The new account is an auditor's")
      ->excludes(
          app.add_flag("--operator", options->is_operator, "The new account is an operator's"));
  app.add_option("--save", options->save, "Write the new token or code into this file (mode 0600)");
  declare_tokens(app, *options);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return account(*options); };
}

}  // namespace commensal::apps
