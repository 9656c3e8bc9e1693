// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::gateway {

/// What a token is good for. Each call of the gateway has one; what else its account may not do by
/// its role, a scope does not give.
enum class Scope : std::uint8_t {
  kAny,       // what every token may: see models and providers, and whose token it is
  kInfer,     // ask for answers and rollouts
  kReceipts,  // read receipts, and the inputs and outputs behind them
  kModels,    // push, change, share, download and remove models
  kMoney,     // see balances, tickets and claims; operators: book money
  kAudits,    // take and answer audits and cases
  kAccounts,  // make and end tokens; operators: accounts, invitations, the log of their acts
  kMetrics,   // operators: read metrics
};
std::span<const std::string_view> enum_names(Scope);
std::string_view name_of(Scope scope);
/// One that a token may be limited to. Error: kInvalidArgument, with their names.
core::Result<Scope> scope_from_text(std::string_view text);
/// All of those.
std::span<const Scope> token_scopes();

}  // namespace commensal::gateway
