// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/serve/gateway/scopes.hpp>

namespace commensal::gateway {

std::span<const std::string_view> enum_names(Scope) {
  static constexpr std::string_view kNames[] = {"any",   "infer",  "receipts", "models",
                                                "money", "audits", "accounts", "metrics"};
  return kNames;
}

std::string_view name_of(Scope scope) { return protocol::name_of(scope); }

std::span<const Scope> token_scopes() {
  static constexpr Scope kScopes[] = {Scope::kInfer,  Scope::kReceipts, Scope::kModels,
                                      Scope::kMoney,  Scope::kAudits,   Scope::kAccounts,
                                      Scope::kMetrics};
  return kScopes;
}

core::Result<Scope> scope_from_text(std::string_view text) {
  for (const Scope scope : token_scopes()) {
    if (name_of(scope) == text) return scope;
  }
  return core::fail(core::ErrorCode::kInvalidArgument, "unknown scope '{}': {}",
                    text.substr(0, limits::kNameBytesMax),
                    fmt::join(enum_names(Scope::kAny).subspan(1), ", "));
}

}  // namespace commensal::gateway
