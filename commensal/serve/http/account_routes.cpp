// SPDX-License-Identifier: Apache-2.0
// Accounts over HTTP: who may ask, with which tokens, and what operators have done.
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_gateway.hpp>
#include <commensal/serve/http/account_json.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/oip.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::Result;
using gateway::Act;
using gateway::Gateway;
using gateway::Role;

constexpr int kCreated = 201;

Response answer(Result<std::string> json, int status = 200) {
  if (!json) return error_response(json.error());
  Response response = json_response(*std::move(json));
  response.status = status;
  return response;
}

/// {account} of the path, for operators; else the asker's own.
const std::string& named_account(const Call& call) {
  const auto named = call.params.find("account");
  return named == call.params.end() ? call.account.name : named->second;
}

/// A token that has not all scopes, or ends, makes and ends nothing of others who may more than
/// consumers. Error: kPermissionDenied.
Result<void> check_rank(const Call& call, Role of) {
  const bool is_whole = call.token.scopes.empty() && call.token.expires_ms == 0;
  if (of == Role::kConsumer || is_whole) return {};
  return core::fail(ErrorCode::kPermissionDenied,
                    "the token '{}' has not all scopes, or expires: what is an operator's or an "
                    "auditor's is not for it",
                    call.token.label);
}

/// Whether the asker may give this account a token on such terms.
Result<void> check_terms(Gateway& gateway, const Call& call, const std::string& name,
                         const gateway::TokenTerms& terms) {
  COMMENSAL_TRY(gateway::check_given(call.token, terms));
  if (name == call.account.name) return {};
  COMMENSAL_ASSIGN(const auto there, gateway.accounts().find(name));
  return there ? check_rank(call, there->role) : Result<void>();
}

Result<std::string> made_account(Gateway& gateway, const Call& call, Act& act) {
  COMMENSAL_ASSIGN(const NewName asked, read_new_name(call.body, "role"));
  act.on = asked.name;
  COMMENSAL_ASSIGN(const Role role,
                   gateway::role_from_text(asked.role.empty() ? "consumer" : asked.role));
  act.on += fmt::format(" ({})", gateway::name_of(role));
  COMMENSAL_TRY(check_rank(call, role));
  COMMENSAL_ASSIGN(const gateway::NewAccount made, gateway.create_account(asked.name, role));
  return account_json({asked.name, role}, made.token, made.credit, gateway.money().price);
}

Response create_account(Gateway& gateway, const Call& call, Act& act) {
  act.what = "account.create";
  return answer(made_account(gateway, call, act), kCreated);
}

Response remove_account(Gateway& gateway, const Call& call, Act& act) {
  const std::string& name = call.params.at("account");
  act.what = "account.delete";
  act.on = name;
  const auto removed = gateway.remove_account(name);
  if (!removed) return error_response(removed.error());
  return json_response(fmt::format(R"({{"name":{},"removed":true}})", json_quote(name)));
}

/// ?count=N&after=NAME: by name.
Response list_accounts(Gateway& gateway, const Call& call) {
  const auto count = count_in(call, "count", limits::kAccountsListedMax);
  if (!count) return error_response(count.error());
  const auto accounts = gateway.accounts().list(query_of(call, "after"), *count);
  if (!accounts) return error_response(accounts.error());
  return json_response(accounts_json(*accounts));
}

Response who_am_i(Gateway&, const Call& call) {
  return json_response(pass_json(call.account, call.token));
}

Result<std::string> renewed(Gateway& gateway, const Call& call, const std::string& name) {
  COMMENSAL_TRY(check_terms(gateway, call, name, {}));
  COMMENSAL_ASSIGN(const std::string token, gateway.accounts().renew(name));
  COMMENSAL_ASSIGN(const gateway::Pass pass, gateway.accounts().authenticate(token));
  return account_json(pass.account, token);
}

Response renew_token(Gateway& gateway, const Call& call, Act& act) {
  act.what = "token.rotate";
  act.on = named_account(call);
  return answer(renewed(gateway, call, named_account(call)));
}

Result<std::string> made_token(Gateway& gateway, const Call& call, Act& act) {
  const std::string& name = named_account(call);
  COMMENSAL_ASSIGN(const gateway::TokenTerms terms,
                   read_token_terms(call.body, gateway.clock().wall_ms()));
  act.on += "/" + terms.label;
  COMMENSAL_TRY(check_terms(gateway, call, name, terms));
  COMMENSAL_ASSIGN(const std::string token, gateway.accounts().make_token(name, terms));
  COMMENSAL_ASSIGN(const gateway::Pass pass, gateway.accounts().authenticate(token));
  return token_json(pass.token, token);
}

Response create_token(Gateway& gateway, const Call& call, Act& act) {
  act.what = "token.create";
  act.on = named_account(call);
  return answer(made_token(gateway, call, act), kCreated);
}

Response list_tokens(Gateway& gateway, const Call& call) {
  const auto tokens = gateway.accounts().tokens(named_account(call));
  if (!tokens) return error_response(tokens.error());
  return json_response(tokens_json(*tokens));
}

Response end_token(Gateway& gateway, const Call& call, Act& act) {
  const std::string &name = named_account(call), &label = call.params.at("token");
  act.what = "token.delete";
  act.on = name + "/" + label;
  const auto ended = [&]() -> Result<std::string> {
    COMMENSAL_ASSIGN(const auto there, gateway.accounts().find(name));
    if (there && name != call.account.name) COMMENSAL_TRY(check_rank(call, there->role));
    COMMENSAL_ASSIGN(const auto tokens, gateway.accounts().tokens(name));
    const auto one = std::ranges::find(tokens, label, &gateway::Token::label);
    if (one != tokens.end()) {
      COMMENSAL_TRY(gateway::check_given(
          call.token, {.label = label, .scopes = one->scopes, .expires_ms = one->expires_ms}));
    }
    COMMENSAL_TRY(gateway.accounts().end_token(name, label));
    return fmt::format(R"({{"label":{},"removed":true}})", json_quote(label));
  };
  return answer(ended());
}

/// Test money that a new account gets; nothing where none is granted. Who is invited gets the same,
/// unless the invitation says otherwise.
protocol::Amount usual_credit(const Gateway& gateway) {
  const gateway::MoneyConfig& money = gateway.money();
  const bool is_granted = money.test.is_granted && money.face_value != protocol::Amount();
  return is_granted ? money.test.credit : protocol::Amount();
}

Response create_invitation(Gateway& gateway, const Call& call, Act& act) {
  act.what = "invitation.create";
  const auto made = [&]() -> Result<std::string> {
    COMMENSAL_ASSIGN(gateway::Invitation terms,
                     read_invitation(call.body, gateway.clock().wall_ms(), usual_credit(gateway)));
    act.on = fmt::format("{} ({} uses, credit {})", terms.label, terms.uses_left,
                         protocol::to_text(terms.credit));
    COMMENSAL_ASSIGN(const std::string code, gateway.invite(terms));
    terms.made_ms = gateway.clock().wall_ms();
    return invitation_json(terms, code);
  };
  return answer(made(), kCreated);
}

Response list_invitations(Gateway& gateway, const Call&) {
  const auto all = gateway.invitations().list();
  if (!all) return error_response(all.error());
  return json_response(invitations_json(*all));
}

Response end_invitation(Gateway& gateway, const Call& call, Act& act) {
  const std::string& label = call.params.at("invitation");
  act.what = "invitation.delete";
  act.on = label;
  const auto ended = gateway.invitations().end(label);
  if (!ended) return error_response(ended.error());
  return json_response(fmt::format(R"({{"label":{},"removed":true}})", json_quote(label)));
}

/// On the loop. Uninvited, each network may come so often. On a
/// connection that is an account's there is no network to count by.
Result<std::string> signed_up(const Services& services, const Call& call, const NewName& asked) {
  if (call.network.empty())
    return core::fail(ErrorCode::kFailedPrecondition,
                      "an account has spoken on this connection: sign up on another one");
  const std::int64_t now_ns = services.clock.monotonic_ns();
  if (asked.code.empty() && !services.serving.strangers.sign_up(call.network, now_ns))
    return core::fail(ErrorCode::kResourceExhausted,
                      "too many have signed up, from this address or from all: again in a minute");
  COMMENSAL_ASSIGN(const gateway::NewAccount made,
                   services.gateway.sign_up(asked.name, asked.code));
  return account_json({asked.name, Role::kConsumer}, made.token, made.credit,
                      services.gateway.money().price);
}

void sign_up(const Services& services, CallPtr call, Reply reply) {
  const auto asked = read_new_name(call->body, "code");
  if (!asked) return reply(error_response(asked.error()));
  services.turns->post(
      "", [&services, call = std::move(call), reply = std::move(reply), asked = *asked] {
        reply(answer(signed_up(services, *call, asked), kCreated));
      });
}

/// ?count=N&before=NUMBER: newest first.
Response list_acts(Gateway& gateway, const Call& call) {
  const auto count = count_in(call, "count", limits::kOperatorActsListedMax);
  if (!count) return error_response(count.error());
  const std::string text = query_of(call, "before");
  std::uint64_t before = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), before);
  if (!text.empty() && (error != std::errc() || stop != text.data() + text.size() || before == 0))
    return error_response({ErrorCode::kInvalidArgument, "before: expected an act's number"});
  const auto acts = gateway.acts().read(before, *count);
  if (!acts) return error_response(acts.error());
  return json_response(acts_json(*acts));
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/account", Auth::kAccount, Scope::kAny, kSmall, on_loop<who_am_i>},
    {"POST", "/v1/account/token", Auth::kAccount, Scope::kAccounts, kSmall, changes<renew_token>},
    {"GET", "/v1/account/tokens", Auth::kAccount, Scope::kAccounts, kSmall, on_loop<list_tokens>},
    {"POST", "/v1/account/tokens", Auth::kAccount, Scope::kAccounts, kSmall, changes<create_token>},
    {"DELETE", "/v1/account/tokens/{token}", Auth::kAccount, Scope::kAccounts, kSmall,
     changes<end_token>},
    {"POST", "/v1/accounts", Auth::kOperator, Scope::kAccounts, kSmall, changes<create_account>},
    {"GET", "/v1/accounts", Auth::kOperator, Scope::kAccounts, kSmall, on_loop<list_accounts>},
    {"DELETE", "/v1/accounts/{account}", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<remove_account>},
    {"POST", "/v1/accounts/{account}/token", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<renew_token>},
    {"GET", "/v1/accounts/{account}/tokens", Auth::kOperator, Scope::kAccounts, kSmall,
     on_loop<list_tokens>},
    {"POST", "/v1/accounts/{account}/tokens", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<create_token>},
    {"DELETE", "/v1/accounts/{account}/tokens/{token}", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<end_token>},
    {"POST", "/v1/signup", Auth::kNone, Scope::kAny, kSmall, sign_up},
    {"GET", "/v1/invitations", Auth::kOperator, Scope::kAccounts, kSmall,
     on_loop<list_invitations>},
    {"POST", "/v1/invitations", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<create_invitation>},
    {"DELETE", "/v1/invitations/{invitation}", Auth::kOperator, Scope::kAccounts, kSmall,
     changes<end_invitation>},
    {"GET", "/v1/audit-log", Auth::kOperator, Scope::kAccounts, kSmall, on_loop<list_acts>},
};

}  // namespace

std::span<const Route> account_routes() { return kRoutes; }

}  // namespace commensal::http
