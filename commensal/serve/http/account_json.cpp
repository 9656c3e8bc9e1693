// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/account_json.hpp>
#include <commensal/serve/http/json_parts.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kForeverS = 100LL * 365 * 86'400;

/// An object with no other members than these, null ones left out. Error: kInvalidArgument.
Result<Json> object_of(core::ByteView body, std::initializer_list<std::string_view> names) {
  const Json read = Json::parse(core::as_text(body), nullptr, false);
  if (!read.is_object())
    return fail(ErrorCode::kInvalidArgument, "the body is no JSON object of {}",
                fmt::join(names, ", "));
  Json kept = Json::object();
  for (const auto& [name, value] : read.items()) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      return fail(ErrorCode::kInvalidArgument, "unknown member '{}': {}",
                  name.substr(0, limits::kNameBytesMax), fmt::join(names, ", "));
    if (!value.is_null()) kept[name] = value;
  }
  return kept;
}

/// "" where it is not there.
Result<std::string> text_in(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return std::string();
  if (found->is_string()) return found->get<std::string>();
  return fail(ErrorCode::kInvalidArgument, "{}: expected a text", name);
}

/// 0 where it is not there.
Result<std::int64_t> number_in(const Json& json, const char* name, std::int64_t most) {
  const auto found = json.find(name);
  if (found == json.end()) return 0;
  const bool is_within = found->is_number_unsigned() && found->get<std::uint64_t>() > 0 &&
                         std::cmp_less_equal(found->get<std::uint64_t>(), most);
  if (is_within) return found->get<std::int64_t>();
  return fail(ErrorCode::kInvalidArgument, "{}: expected a whole number, 1 to {}", name, most);
}

Result<std::int64_t> expiry_in(const Json& json, std::int64_t now_ms) {
  COMMENSAL_ASSIGN(const std::int64_t in_s, number_in(json, "expires_in_s", kForeverS));
  return in_s == 0 ? 0 : now_ms + 1'000 * in_s;
}

Json time_of(std::int64_t ms) { return ms == 0 ? Json(nullptr) : Json(ms); }

Json scopes_of(const gateway::Token& token) {
  if (token.scopes.empty()) return nullptr;
  Json list = Json::array();
  for (const gateway::Scope scope : token.scopes) list.push_back(gateway::name_of(scope));
  return list;
}

Json json_of(const gateway::Token& token) {
  return {{"label", token.label},
          {"scopes", scopes_of(token)},
          {"made_ms", time_of(token.made_ms)},
          {"expires_ms", time_of(token.expires_ms)},
          {"used_ms", time_of(token.used_ms)}};
}

Json json_of(const gateway::Invitation& one) {
  return {{"label", one.label},
          {"uses_left", one.uses_left},
          {"made_ms", one.made_ms},
          {"expires_ms", time_of(one.expires_ms)},
          {"credit", protocol::to_text(one.credit)}};
}

Json json_of(const gateway::Act& act) {
  return {{"number", act.number},  {"at_ms", act.at_ms}, {"account", act.account},
          {"token", act.token},    {"act", act.what},    {"on", act.on},
          {"outcome", act.outcome}};
}

template <class T>
std::string list_of(std::string_view name, const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(json_of(item));
  return text_of({{name, std::move(list)}});
}

}  // namespace

Result<gateway::TokenTerms> read_token_terms(core::ByteView body, std::int64_t now_ms) {
  COMMENSAL_ASSIGN(const Json json, object_of(body, {"label", "scopes", "expires_in_s"}));
  gateway::TokenTerms terms;
  COMMENSAL_ASSIGN(terms.label, text_in(json, "label"));
  COMMENSAL_ASSIGN(terms.expires_ms, expiry_in(json, now_ms));
  const auto scopes = json.find("scopes");
  if (scopes == json.end()) return terms;
  if (!scopes->is_array() || scopes->empty())
    return fail(ErrorCode::kInvalidArgument,
                "scopes: expected a list of names, one at least; leave it out for all");
  for (const Json& name : *scopes) {
    if (!name.is_string()) return fail(ErrorCode::kInvalidArgument, "scopes: expected texts");
    COMMENSAL_ASSIGN(const gateway::Scope scope, gateway::scope_from_text(name.get<std::string>()));
    terms.scopes.push_back(scope);
  }
  return terms;
}

Result<gateway::Invitation> read_invitation(core::ByteView body, std::int64_t now_ms,
                                            const protocol::Amount& usual) {
  COMMENSAL_ASSIGN(const Json json, object_of(body, {"label", "uses", "expires_in_s", "credit"}));
  gateway::Invitation made;
  made.credit = usual;
  COMMENSAL_ASSIGN(made.label, text_in(json, "label"));
  COMMENSAL_ASSIGN(made.expires_ms, expiry_in(json, now_ms));
  constexpr std::int64_t kUsesMax = 1'000'000;
  COMMENSAL_ASSIGN(const std::int64_t uses, number_in(json, "uses", kUsesMax));
  made.uses_left = static_cast<std::uint32_t>(std::max<std::int64_t>(uses, 1));
  COMMENSAL_ASSIGN(const std::string credit, text_in(json, "credit"));
  if (credit.empty()) return made;
  const auto amount = protocol::amount_from_text(credit);
  if (!amount)
    return fail(ErrorCode::kInvalidArgument,
                "credit: '{}', expected an integer from 0 to 2^128 - 1, decimal digits in quotes",
                credit.substr(0, limits::kNameBytesMax));
  made.credit = *amount;
  return made;
}

Result<NewName> read_new_name(core::ByteView body, std::string_view member) {
  COMMENSAL_ASSIGN(const Json json, object_of(body, {"name", member}));
  NewName made;
  COMMENSAL_ASSIGN(made.name, text_in(json, "name"));
  COMMENSAL_ASSIGN(made.role, text_in(json, "role"));
  COMMENSAL_ASSIGN(made.code, text_in(json, "code"));
  return made;
}

std::string pass_json(const gateway::Account& account, const gateway::Token& token) {
  return text_of({{"name", account.name},
                  {"role", gateway::name_of(account.role)},
                  {"label", token.label},
                  {"scopes", scopes_of(token)},
                  {"expires_ms", time_of(token.expires_ms)}});
}

std::string token_json(const gateway::Token& token, std::string_view text) {
  Json json = json_of(token);
  if (!text.empty()) json["token"] = text;
  return text_of(json);
}

std::string tokens_json(const std::vector<gateway::Token>& tokens) {
  return list_of("tokens", tokens);
}

std::string invitation_json(const gateway::Invitation& invitation, std::string_view code) {
  Json json = json_of(invitation);
  if (!code.empty()) json["code"] = code;
  return text_of(json);
}

std::string invitations_json(const std::vector<gateway::Invitation>& invitations) {
  return list_of("invitations", invitations);
}

std::string acts_json(const std::vector<gateway::Act>& acts) { return list_of("acts", acts); }

}  // namespace commensal::http
