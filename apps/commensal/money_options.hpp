// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
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

/// What is doubtful about these terms, with so much in the gateway's escrow: they cost it money, or
/// nobody can be served. A line each.
std::vector<std::string> doubts_about(const gateway::MoneyConfig& money,
                                      const protocol::Amount& escrow);

}  // namespace commensal::apps
