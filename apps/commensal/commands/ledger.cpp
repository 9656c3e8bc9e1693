// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/common/command.hpp>
#include <apps/common/progress.hpp>
#include <apps/common/service.hpp>
#include <commensal/base/store/sqlite_store.hpp>
#include <commensal/serve/cases/ledger_arbiter.hpp>
#include <commensal/trade/pay/ledger/verify.hpp>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::Result;
using Json = nlohmann::ordered_json;

struct LedgerArguments {
  std::string folder;
  bool json = false;
};

Result<ledger::Verified> verified(const LedgerArguments& options) {
  const core::Path file = core::Path(options.folder) / "state.sqlite";
  if (!std::filesystem::exists(file)) {
    return core::fail(core::ErrorCode::kNotFound, "'{}' is not the folder of a gateway",
                      options.folder);
  }
  COMMENSAL_ASSIGN(const auto store, store::open_sqlite_store(file));
  Progress progress("entries");
  const cases::LedgerArbiter arbiter;
  auto done = ledger::verify(
      *store, ledger::Signatures(),
      [&](std::uint64_t entry, std::uint64_t total) {
        if (entry % 1024 == 0) progress.show(entry, total);
      },
      &arbiter);
  progress.clear();
  if (!done) return core::in_context(fmt::format("'{}'", file.string()), done.error());
  return done;
}

Json summary_of(const ledger::Verified& found) {
  const ledger::State::Scalars& scalars = found.state.scalars;
  return {{"entries", found.entries},
          {"from", found.from},
          {"head", core::to_hex(scalars.head)},
          {"state", core::to_hex(found.root)},
          {"operator", crypto::to_text(scalars.config.operator_address)},
          {"chain_id", scalars.config.chain_id},
          {"time_ms", scalars.time_ms},
          {"has_state", found.has_state}};
}

Result<int> verify(const LedgerArguments& options) {
  COMMENSAL_ASSIGN(const ledger::Verified found, verified(options));
  if (options.json) {
    fmt::print("{}\n", summary_of(found).dump(2));
    return 0;
  }
  fmt::print(
      "entries      {}, {} run again: signatures, rules, postings, hashes\n", found.entries,
      found.from == 0 ? "each one" : fmt::format("those from the checkpoint at {} on", found.from));
  fmt::print("head         {}\nstate        {}\n", core::to_hex(found.state.scalars.head),
             core::to_hex(found.root));
  fmt::print("stored       {}\n", found.has_state ? "equal to what the journal adds up to"
                                                  : "not looked at: it was written to meanwhile");
  fmt::print("conserved    {} came in and did not leave; the accounts add up to it\n",
             protocol::to_text(found.state.balances.get(ledger::kOutside)));
  return 0;
}

Result<int> show(const LedgerArguments& options) {
  COMMENSAL_ASSIGN(const ledger::Verified found, verified(options));
  Json accounts = Json::array();
  for (const auto& [account, amount] : found.state.balances.rows()) {
    const bool owned = account.owner != crypto::Address{};
    accounts.push_back({{"owner", owned ? Json(crypto::to_text(account.owner)) : Json()},
                        {"account", protocol::name_of(account.kind)},
                        {"balance", protocol::to_text(amount)}});
  }
  if (options.json) {
    Json summary = summary_of(found);
    summary["accounts"] = std::move(accounts);
    fmt::print("{}\n", summary.dump(2));
    return 0;
  }
  fmt::print("{:<42}  {:<14}  {:>39}\n", "OWNER", "ACCOUNT", "BALANCE");
  for (const auto& [account, amount] : found.state.balances.rows()) {
    const bool owned = account.owner != crypto::Address{};
    fmt::print("{:<42}  {:<14}  {:>39}\n", owned ? crypto::to_text(account.owner) : "-",
               protocol::name_of(account.kind), protocol::to_text(amount));
  }
  return 0;
}

}  // namespace

Run declare_ledger(CLI::App& app) {
  const auto options = std::make_shared<LedgerArguments>();
  options->folder = state_folder("gateway").string();
  app.require_subcommand(1);
  const auto declare = [&](const char* name, const char* what) {
    CLI::App* made = app.add_subcommand(name, what);
    made->add_option("--data-dir", options->folder, "Of a gateway")->capture_default_str();
    made->add_flag("--json", options->json, "Print JSON");
    return made;
  };
  CLI::App* checking = declare("verify", "Run the whole journal again and compare all of it");
  declare("show", "Balances, after the same check");
  return [options, checking] { return checking->parsed() ? verify(*options) : show(*options); };
}

}  // namespace commensal::apps
