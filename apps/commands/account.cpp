// SPDX-License-Identifier: Apache-2.0
#include <apps/command.hpp>
#include <apps/connection.hpp>
#include <commensal/base/core/file.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct Options {
  std::string action = "whoami";
  std::string name;
  bool is_operator = false;
  std::string save;
  Connection connection;
  bool json = false;
};

void print_account(const client::AccountInfo& account) {
  fmt::print("{:<32} {}\n", account.name, account.role);
}

Result<int> create(const Options& options, client::Client& client) {
  if (options.name.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument, "expected: account create NAME");
  }
  COMMENSAL_ASSIGN(
      const client::AccountInfo account,
      client.create_account(options.name, options.is_operator ? "operator" : "consumer"));
  if (!options.save.empty()) {
    const auto saved =
        core::write_file_atomically(options.save, core::as_bytes(account.token + "\n"), 0600);
    // The token cannot be shown again: rather on the terminal than nowhere.
    if (!saved) fmt::print(stderr, "cannot write '{}': {}\n", options.save, saved.error().message);
    if (saved && !options.json) {
      print_account(account);
      return 0;
    }
  }
  if (options.json) {
    Json json = {{"name", account.name}, {"role", account.role}, {"token", account.token}};
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}\n", account.token);
  }
  return 0;
}

Result<int> list(const Options& options, client::Client& client) {
  if (options.json) {
    COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/accounts"));
    fmt::print("{}\n", text);
    return 0;
  }
  COMMENSAL_ASSIGN(const std::vector<client::AccountInfo> accounts, client.accounts());
  for (const client::AccountInfo& account : accounts) print_account(account);
  return 0;
}

Result<int> who_am_i(const Options& options, client::Client& client) {
  if (options.json) {
    COMMENSAL_ASSIGN(const std::string text, client.get_json("/v1/account"));
    fmt::print("{}\n", text);
    return 0;
  }
  COMMENSAL_ASSIGN(const client::AccountInfo account, client.who_am_i());
  print_account(account);
  return 0;
}

struct Action {
  std::string_view name;
  Result<int> (*run)(const Options& options, client::Client& client);
};
constexpr Action kActions[] = {{"create", create}, {"list", list}, {"whoami", who_am_i}};

Result<int> account(const Options& options) {
  COMMENSAL_ASSIGN(client::Client client, connect(options.connection));
  for (const Action& action : kActions) {
    if (action.name == options.action) return action.run(options, client);
  }
  return core::fail(core::ErrorCode::kInvalidArgument,
                    "no action '{}'; there are create, list, whoami", options.action);
}

}  // namespace

Run declare_account(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("action", options->action,
                 "create NAME (operators only; prints the token), list (operators only), whoami")
      ->capture_default_str();
  app.add_option("name", options->name, "Name of the new account: [a-z0-9_-], a letter first");
  app.add_flag("--operator", options->is_operator, "The new account is an operator's");
  app.add_option("--save", options->save, "Write the new token into this file (mode 0600)");
  options->connection.declare(app);
  app.add_flag("--json", options->json, "Print JSON");
  return [options] { return account(*options); };
}

}  // namespace commensal::apps
