// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/commensal/connection.hpp>
#include <apps/commensal/key_options.hpp>
#include <apps/commensal/money_requests.hpp>
#include <apps/common/action.hpp>
#include <apps/common/command.hpp>
#include <charconv>
#include <commensal/trade/pay/ledger/transaction.hpp>
#include <memory>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using protocol::Amount;

struct StakeArguments {
  std::string action = "show";
  std::string what;
  SignerOptions signer;
  Connection connection;
  bool json = false;
};

Result<Amount> amount_of(const StakeArguments& options) {
  auto amount = protocol::amount_from_text(options.what);
  if (amount) return amount;
  return fail(ErrorCode::kInvalidArgument, "expected: stake {} AMOUNT, found '{}'", options.action,
              options.what);
}

Result<ledger::Body> lock(const StakeArguments& options) {
  COMMENSAL_ASSIGN(const Amount amount, amount_of(options));
  return ledger::Fund{ledger::AccountKind::kStake, amount};
}

Result<ledger::Body> announce(const StakeArguments& options) {
  COMMENSAL_ASSIGN(const Amount amount, amount_of(options));
  return ledger::AnnounceWithdrawal{ledger::AccountKind::kStake, amount};
}

Result<ledger::Body> withdraw(const StakeArguments& options) {
  COMMENSAL_ASSIGN(const Amount amount, amount_of(options));
  return ledger::Withdraw{amount};
}

Result<ledger::Body> complete(const StakeArguments& options) {
  std::uint64_t number = 0;
  const char* end = options.what.data() + options.what.size();
  const auto [stop, error] = std::from_chars(options.what.data(), end, number);
  if (error == std::errc() && stop == end) return ledger::CompleteWithdrawal{number};
  return fail(ErrorCode::kInvalidArgument,
              "expected: stake complete NUMBER, as 'stake show' lists them, found '{}'",
              options.what);
}

struct Action {
  std::string_view name;
  Result<ledger::Body> (*body)(const StakeArguments& options);  // null: nothing is sent
};
constexpr Action kActions[] = {{"show", nullptr},
                               {"lock", lock},
                               {"announce", announce},
                               {"complete", complete},
                               {"withdraw", withdraw}};

Result<int> stake(const StakeArguments& options) {
  COMMENSAL_ASSIGN(const Action* const action, find_action<Action>(kActions, options.action));
  COMMENSAL_ASSIGN(const crypto::SecretKey key, options.signer.key());
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  COMMENSAL_ASSIGN(Json now, balances_of(client, crypto::to_text(key.address())));
  if (action->body != nullptr) {
    COMMENSAL_ASSIGN(ledger::Body body, action->body(options));
    COMMENSAL_ASSIGN(now, send_transaction(client, key, now, std::move(body)));
  }
  if (options.json) {
    fmt::print("{}\n", now.dump(2));
  } else {
    print_balances(now);
  }
  return 0;
}

}  // namespace

Run declare_stake(CLI::App& app) {
  const auto options = std::make_shared<StakeArguments>();
  CLI::Option* const action =
      app.add_option(
             "action", options->action,
             "show; lock AMOUNT; announce AMOUNT (it is free after the ledger's delay), "
             "complete NUMBER (then); withdraw AMOUNT (what is available leaves the ledger, "
             "and the operator pays it out)")
          ->capture_default_str();
  offer_actions<Action>(*action, kActions);
  app.add_option("what", options->what, "An amount in units, or the number of an announcement");
  options->signer.declare(app);
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return stake(*options); };
}

}  // namespace commensal::apps
