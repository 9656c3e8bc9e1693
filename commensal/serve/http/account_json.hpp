// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <string>
#include <string_view>
#include <vector>

/// What is asked and told of accounts' tokens, invitations and operators' acts, as JSON. What has
/// no bound or was not said is null. Pure functions.
namespace commensal::http {

/// {"label", "scopes" (names; null or missing: all), "expires_in_s" (null or missing: never)}, the
/// label needed. Error: kInvalidArgument.
core::Result<gateway::TokenTerms> read_token_terms(core::ByteView body, std::int64_t now_ms);
/// {"label", "uses" (1), "expires_in_s", "credit" (digits in quotes; null or missing: `usual`)},
/// the label needed. Error: kInvalidArgument.
core::Result<gateway::Invitation> read_invitation(core::ByteView body, std::int64_t now_ms,
                                                  const protocol::Amount& usual);

struct NewName {
  std::string name, role, code;
};
/// {"name", MEMBER}, where that is "role" or "code". Error: kInvalidArgument.
core::Result<NewName> read_new_name(core::ByteView body, std::string_view member);

/// Whose token it is, and which.
std::string pass_json(const gateway::Account& account, const gateway::Token& token);
/// With `text`, of a new one, where it is not "".
std::string token_json(const gateway::Token& token, std::string_view text);
std::string tokens_json(const std::vector<gateway::Token>& tokens);
/// With its code, of a new one, where it is not "".
std::string invitation_json(const gateway::Invitation& invitation, std::string_view code);
std::string invitations_json(const std::vector<gateway::Invitation>& invitations);
std::string acts_json(const std::vector<gateway::Act>& acts);

}  // namespace commensal::http
