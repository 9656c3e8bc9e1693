// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/oip/admission.hpp>

namespace commensal::oip {

namespace {

using core::ErrorCode;

/// The token of "Bearer TOKEN". Error: kUnauthenticated.
core::Result<std::string> token_of(std::string_view authorization, Auth auth) {
  constexpr std::string_view kScheme = "bearer ";
  const bool is_bearer =
      authorization.size() > kScheme.size() &&
      std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                 [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); });
  if (is_bearer) return std::string(authorization.substr(kScheme.size()));
  return core::fail(ErrorCode::kUnauthenticated,
                    "a token is needed{}: send the header \"Authorization: Bearer TOKEN\"",
                    auth == Auth::kOperator ? ", an operator's" : "");
}

core::Result<void> authorize(const Services& services, const std::string& token, Auth auth,
                             Asker& asker) {
  gateway::Gateway& gateway = services.gateway;
  COMMENSAL_ASSIGN(asker.account, gateway.accounts().authenticate(token));
  asker.has_account = true;
  asker.line = asker.account.name;
  if (auth == Auth::kOperator && asker.account.role != gateway::Role::kOperator) {
    return core::fail(ErrorCode::kPermissionDenied,
                      "this is for operators only: use the token whose file the gateway names at "
                      "its start");
  }
  if (auth == Auth::kAuditor && asker.account.role == gateway::Role::kConsumer) {
    return core::fail(ErrorCode::kPermissionDenied,
                      "this is for auditors: use the token of an account of that role");
  }
  COMMENSAL_TRY(gateway.quotas().admit(asker.account, services.clock.monotonic_ns()));
  COMMENSAL_ASSIGN(asker.memory, gateway.quotas().memory().lease(asker.account.name));
  return {};
}

/// Who asks without a token: rate and memory are those of whose connection it is, an address's or,
/// once one has spoken on it, an account's.
core::Result<core::MemoryBudget::Lease> admit_nobody(const Services& services,
                                                     const Credentials& who) {
  if (!services.strangers.ask(who.party, services.clock.monotonic_ns())) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "more than {} requests a second without a token from this {}",
                      limits::kStrangerRequestsPerSecond, who.is_strangers ? "address" : "account");
  }
  return services.gateway.quotas().memory().lease(who.party);
}

}  // namespace

void admit(const Services& services, const Credentials& credentials, Auth auth,
           std::shared_ptr<Asker> asker, std::function<void(core::Result<void>)> done) {
  if (!credentials.is_strangers) asker->line = credentials.party;
  if (auth == Auth::kNone || (auth == Auth::kOptional && credentials.authorization.empty())) {
    auto held = admit_nobody(services, credentials);
    if (!held) return done(tl::unexpected(held.error()));
    asker->memory = *std::move(held);
    return done({});
  }
  auto token = token_of(credentials.authorization, auth);
  if (!token) return done(tl::unexpected(token.error()));
  const std::string sent = *std::move(token);
  services.turns->post_for_token(
      sent, [&services, sent, auth, asker = std::move(asker), done = std::move(done)] {
        const auto admitted = authorize(services, sent, auth, *asker);
        if (asker->has_account) services.turns->remember(sent, asker->account.name);
        done(admitted);
      });
}

}  // namespace commensal::oip
