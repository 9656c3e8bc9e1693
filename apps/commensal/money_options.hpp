// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/provider/purse.hpp>

namespace commensal::apps {

/// An option that takes an amount: decimal digits, at most 2^128 - 1. `amount` outlives the app.
CLI::Option* add_amount(CLI::App& app, const std::string& name, protocol::Amount& amount,
                        const std::string& help);

/// What answers cost and earn at a gateway; off without --face-value. `money` outlives the app.
void declare_money(CLI::App& app, gateway::MoneyConfig& money);
/// What a provider locks and asks for. `purse` outlives the app.
void declare_purse(CLI::App& app, provider::PurseConfig& purse);

/// Why these terms cost the gateway money, or "".
std::string doubt_about(const gateway::MoneyConfig& money);

}  // namespace commensal::apps
