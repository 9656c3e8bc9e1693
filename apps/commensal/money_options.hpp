// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/provider/purse.hpp>

namespace commensal::apps {

/// An option that takes an amount: decimal digits, at most 2^128 - 1. `amount` outlives the app.
CLI::Option* add_amount(CLI::App& app, const std::string& name, protocol::Amount& amount,
                        const std::string& help);

/// What answers cost and earn at a gateway; off without --face-value, the option that is returned.
/// `money` outlives the app.
CLI::Option* declare_money(CLI::App& app, gateway::MoneyConfig& money);
/// What a provider locks and asks for. `purse` outlives the app.
void declare_purse(CLI::App& app, provider::PurseConfig& purse);

/// The terms that answers are sold by (not a ledger's rules, which it keeps itself) lie in the
/// gateway's folder, so that a restart without the flags does not serve for nothing.
/// Errors: those of files; kDataLoss.
core::Result<void> remember_terms(const core::Path& folder, const gateway::MoneyConfig& money);
/// Takes them from there. Returns whether there were any, with a price.
core::Result<bool> recall_terms(const core::Path& folder, gateway::MoneyConfig& money);

/// What is doubtful about these terms, with so much in the gateway's escrow: they cost it money, or
/// nobody can be served. A line each.
std::vector<std::string> doubts_about(const gateway::MoneyConfig& money,
                                      const protocol::Amount& escrow);

}  // namespace commensal::apps
