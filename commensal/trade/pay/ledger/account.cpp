// SPDX-License-Identifier: Apache-2.0
#include <commensal/trade/pay/ledger/account.hpp>

namespace commensal::ledger {

std::span<const std::string_view> enum_names(AccountKind) {
  static constexpr std::string_view kNames[] = {
      "available", "credit", "escrow",      "penalty_escrow", "stake", "withdrawing",
      "claims",    "burnt",  "credit_pool", "outside",        "bond"};
  return kNames;
}

std::string to_text(const AccountId& account) {
  if (account.owner == Address{}) return std::string(protocol::name_of(account.kind));
  return fmt::format("{} of {}", protocol::name_of(account.kind), crypto::to_text(account.owner));
}

}  // namespace commensal::ledger
