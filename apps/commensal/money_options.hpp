// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/serve/gateway/bank.hpp>
#include <commensal/serve/provider/purse.hpp>

namespace commensal::apps {

/// An option that takes an amount: decimal digits, at most 2^128 - 1. `amount` outlives the app.
CLI::Option* add_amount(CLI::App& app, const std::string& name, protocol::Amount& amount,
                        const std::string& help);

/// What answers cost and earn at a gateway, by default something. `money` outlives the app.
void declare_money(CLI::App& app, gateway::MoneyConfig& money);
/// What a provider locks and asks for. `purse` outlives the app.
void declare_purse(CLI::App& app, provider::PurseConfig& purse);

/// The terms that answers are sold by (not a ledger's rules, which it keeps itself) lie in the
/// gateway's folder, so that a restart without the flags does not serve for nothing.
/// Errors: those of files; kDataLoss.
core::Result<void> remember_terms(const core::Path& folder, const gateway::MoneyConfig& money);
/// Fills in from there what was not given, once the line is parsed: a folder that was run without
/// money goes on so, and one that was run with money that is no test money never gets any.
/// `is_local`: only this machine reaches the gateway. Returns a note that says what was; "" for
/// nothing. Errors: those of files; kDataLoss; kInvalidArgument (a term where there is no money);
/// kFailedPrecondition (test money among other).
core::Result<std::string> settle_terms(const CLI::App& app, const core::Path& folder, bool is_local,
                                       gateway::MoneyConfig& money);
/// What an operator must know of these settled terms: what is not protected without money, or that
/// it is test money; "" for nothing. `audit_floor`: the least probability of an audit.
std::string words_about(const gateway::MoneyConfig& money, double audit_floor);
/// Of hash chains between this machine and itself, where nobody said otherwise: a month and a half
/// of rounds, made in a second or two; who comes to its end starts again.
inline constexpr int kLocalChainDepth = 22;
/// What the first start with money takes long for, measured; "" where it does not, or is not the
/// first. Before remember_terms().
std::string hash_chain_note(const core::Path& folder, const gateway::MoneyConfig& money,
                            const core::Clock& clock);
/// Likewise of a provider, in a folder that is not there yet.
std::string hash_chain_note(const core::Path& folder, const provider::PurseConfig& purse,
                            const core::Clock& clock);
/// That the rules that were given are those of the ledger there is. Error: kFailedPrecondition.
core::Result<void> check_rules(const CLI::App& app, const ledger::Config& asked,
                               const ledger::Config& kept);

/// What is doubtful about these terms, with so much in the gateway's escrows: they cost it money,
/// or nobody can be served. A line each.
std::vector<std::string> doubts_about(const gateway::MoneyConfig& money,
                                      const protocol::Amount& escrow,
                                      const protocol::Amount& penalty_escrow);

}  // namespace commensal::apps
