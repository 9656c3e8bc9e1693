// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/base64.hpp>
#include <commensal/serve/oip/admission.hpp>

namespace commensal::oip {

namespace {

using core::ErrorCode;

/// What a request is to be believed by.
struct Shown {
  std::string token;
  std::string name;  // of the account, where it was said
};

/// What follows "scheme ", which is written in any case; none where it is another.
std::optional<std::string_view> after_scheme(std::string_view authorization,
                                             std::string_view scheme) {
  const auto is_same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); };
  if (authorization.size() <= scheme.size()) return std::nullopt;
  if (!std::ranges::equal(scheme, authorization.substr(0, scheme.size()), is_same))
    return std::nullopt;
  return authorization.substr(scheme.size());
}

/// "Bearer TOKEN", or "Basic" of NAME:TOKEN (RFC 7617). Error: kUnauthenticated.
core::Result<Shown> read(std::string_view authorization, Auth auth) {
  if (const auto token = after_scheme(authorization, "bearer "))
    return Shown{std::string(*token), ""};
  if (const auto basic = after_scheme(authorization, "basic ")) {
    const auto text = core::from_base64(*basic);
    const std::size_t colon = text ? text->find(':') : std::string::npos;
    if (colon != std::string::npos) return Shown{text->substr(colon + 1), text->substr(0, colon)};
    return core::fail(ErrorCode::kUnauthenticated, "Basic is followed by NAME:TOKEN in base64");
  }
  return core::fail(ErrorCode::kUnauthenticated,
                    "a token is needed{}: send the header \"Authorization: Bearer TOKEN\"",
                    auth == Auth::kOperator ? ", an operator's" : "");
}

/// Error: kUnauthenticated (it was said to be another's).
core::Result<gateway::Pass> check_name(const Shown& shown, gateway::Pass pass) {
  if (shown.name.empty() || shown.name == pass.account.name) return pass;
  return core::fail(ErrorCode::kUnauthenticated, "the token is not that of the account '{}'",
                    shown.name.substr(0, limits::kNameBytesMax));
}

/// Of who shows no token, where the operator has named an account: it may infer. What others have
/// asked by it, its models and its tokens are not for everybody.
core::Result<gateway::Pass> anonymous_pass(gateway::Gateway& gateway, const std::string& name) {
  using gateway::Scope;
  COMMENSAL_ASSIGN(auto account, gateway.accounts().find(name));
  if (account && account->role != gateway::Role::kConsumer) {
    return core::fail(ErrorCode::kUnauthenticated,
                      "a token is needed: the account '{}' for who has none is an {}'s, expected a "
                      "consumer's",
                      name, name_of(account->role));
  }
  if (account) {
    return gateway::Pass{*std::move(account),
                         {.account = name, .label = "", .scopes = {Scope::kInfer}}};
  }
  return core::fail(ErrorCode::kUnauthenticated,
                    "a token is needed: there is no account '{}' for who has none", name);
}

core::Result<void> check_scope(const gateway::Token& token, gateway::Scope scope) {
  if (token.has(scope)) return {};
  const std::string which =
      token.label.empty() ? "who shows no token" : fmt::format("the token '{}'", token.label);
  return core::fail(ErrorCode::kPermissionDenied, "{} has not the scope '{}', which this needs",
                    which, gateway::name_of(scope));
}

core::Result<void> authorize(const Services& services, core::Result<gateway::Pass> pass, Auth auth,
                             gateway::Scope scope, Asker& asker) {
  if (!pass) return tl::unexpected(pass.error());
  asker.account = std::move(pass->account);
  asker.token = std::move(pass->token);
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
  COMMENSAL_TRY(check_scope(asker.token, scope));
  gateway::Quotas& quotas = services.gateway.quotas();
  COMMENSAL_TRY(quotas.admit(asker.account, services.clock.monotonic_ns()));
  COMMENSAL_ASSIGN(asker.memory, quotas.memory().lease(asker.account.name));
  return {};
}

/// Who asks without a token: rate and memory are those of whose connection it is, an address's or,
/// once one has spoken on it, an account's.
core::Result<core::MemoryBudget::Lease> admit_nobody(const Services& services,
                                                     const Credentials& who) {
  if (!services.serving.strangers.ask(who.party, services.clock.monotonic_ns())) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "more than {} requests a second without a token from this {}",
                      limits::kStrangerRequestsPerSecond, who.is_strangers ? "address" : "account");
  }
  return services.gateway.quotas().memory().lease(who.party);
}

}  // namespace

void admit(const Services& services, const Credentials& credentials, Auth auth,
           gateway::Scope scope, std::shared_ptr<Asker> asker,
           std::function<void(core::Result<void>)> done) {
  asker->is_local = credentials.is_local;
  (credentials.is_strangers ? asker->network : asker->line) = credentials.party;
  if (auth == Auth::kNone || (auth == Auth::kOptional && credentials.authorization.empty())) {
    auto held = admit_nobody(services, credentials);
    if (!held) return done(tl::unexpected(held.error()));
    asker->memory = *std::move(held);
    return done({});
  }
  const std::string& anonymous = services.serving.options.anonymous;
  if (credentials.authorization.empty() && !anonymous.empty() && auth != Auth::kToken) {
    return services.turns->post(
        anonymous, [&services, auth, scope, asker = std::move(asker), done = std::move(done)] {
          const std::string& name = services.serving.options.anonymous;
          done(authorize(services, anonymous_pass(services.gateway, name), auth, scope, *asker));
        });
  }
  auto shown = read(credentials.authorization, auth);
  if (!shown) return done(tl::unexpected(shown.error()));
  gateway::Accounts& accounts = services.gateway.accounts();
  // Who has been here costs the loop nothing.
  if (auto known = accounts.recall(shown->token))
    return done(authorize(services, check_name(*shown, *std::move(known)), auth, scope, *asker));
  services.turns->post("", [&services, &accounts, shown = *std::move(shown), auth, scope,
                            asker = std::move(asker), done = std::move(done)] {
    auto pass = accounts.authenticate(shown.token);
    if (pass) pass = check_name(shown, *std::move(pass));
    done(authorize(services, std::move(pass), auth, scope, *asker));
  });
}

}  // namespace commensal::oip
