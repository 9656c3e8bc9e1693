// SPDX-License-Identifier: Apache-2.0
#include <apps/commensal/account_actions.hpp>
#include <apps/common/complaint.hpp>
#include <apps/common/summary.hpp>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/serve/gateway/tokens.hpp>
#include <cstdlib>

namespace commensal::apps {

using core::ErrorCode;
using core::Result;

namespace {

/// That a name may stand in a path. Error: kInvalidArgument.
Result<void> check_label(const std::string& label, std::string_view expected) {
  if (gateway::is_label(label)) return {};
  return core::fail(ErrorCode::kInvalidArgument, "expected: account {}, a name of {}", expected,
                    gateway::kLabelRule);
}

Result<std::string> tokens_target(const AccountArguments& options) {
  if (options.of.empty()) return std::string("/v1/account/tokens");
  COMMENSAL_TRY(check_label(options.of, options.action + " ... --of ACCOUNT"));
  return "/v1/accounts/" + options.of + "/tokens";
}

/// Prints an answer that has a secret, or saves that and prints the rest.
Result<int> give_secret(const AccountArguments& options, Json answer, const char* member) {
  const std::string secret = text_in(answer, member);
  Result<void> saved;
  if (!options.save.empty())
    saved = core::write_file_atomically(options.save, core::as_bytes(secret + "\n"), 0600);
  const bool is_hidden = saved && !options.save.empty();
  if (is_hidden) answer.erase(member);
  if (options.json) {
    fmt::print("{}\n", answer.dump(2));
  } else if (!is_hidden) {
    fmt::print("{}\n", secret);
  } else {
    fmt::print("{} is in {}\n", member, options.save);
  }
  if (!saved) return tl::unexpected(saved.error());
  if (const auto shown = check_output(); !shown) {
    if (!is_hidden) fmt::print(stderr, "{}\n", secret);
    return tl::unexpected(shown.error());
  }
  return 0;
}

std::string time_in(const Json& json, const char* name, const char* missing) {
  const auto found = json.find(name);
  const bool is_there = found != json.end() && found->is_number_integer();
  return is_there ? utc_text(found->get<std::int64_t>()) : missing;
}

std::string scopes_in(const Json& json) {
  const auto found = json.find("scopes");
  if (found == json.end() || !found->is_array()) return "all";
  std::string list;
  for (const Json& scope : *found) {
    if (scope.is_string()) list += (list.empty() ? "" : ",") + scope.get<std::string>();
  }
  return list;
}

/// The list of that name in an answer, as it came or for people.
template <class Print>
Result<int> show_list(const AccountArguments& options, client::Client& client,
                      const std::string& target, const char* name, Print print) {
  COMMENSAL_ASSIGN(const std::string text, client.get_json(target));
  if (options.json) {
    fmt::print("{}\n", text);
    return 0;
  }
  COMMENSAL_ASSIGN(const Json answer, parse_answer(text));
  for (const Json& one : answer.value(name, Json::array())) print(one);
  return 0;
}

Result<int> show_removed(const AccountArguments& options) {
  if (options.json) {
    fmt::print("{}\n", Json({{"label", options.name}, {"removed", true}}).dump());
  } else {
    fmt::print("{} has ended\n", options.name);
  }
  return 0;
}

void set_expiry(const AccountArguments& options, Json& body) {
  if (options.expires_in_s > 0) body["expires_in_s"] = options.expires_in_s;
}

Result<std::string> invitation_code(const AccountArguments& options) {
  std::string code;
  if (!options.code_file.empty()) {
    COMMENSAL_ASSIGN(const core::Bytes bytes,
                     core::read_file(options.code_file, limits::kTokenBytesMax));
    code = core::as_text(bytes);
  } else if (const char* given = std::getenv("COMMENSAL_INVITATION"); given != nullptr) {
    code = given;
  }
  while (!code.empty() && (code.back() == '\n' || code.back() == '\r')) code.pop_back();
  return code;
}

}  // namespace

Result<void> check_save(const AccountArguments& options, bool replaces) {
  if (options.save.empty()) return {};
  std::error_code error;
  const auto there = std::filesystem::status(options.save, error).type();
  if (there != std::filesystem::file_type::not_found &&
      there != std::filesystem::file_type::regular)
    return core::fail(ErrorCode::kInvalidArgument, "'{}' is no file, name another", options.save);
  const auto bytes = std::filesystem::file_size(options.save, error);
  if (error) return core::write_file_atomically(options.save, {}, 0600);
  if (replaces || bytes == 0) return {};  // empty: of a try that failed
  return core::fail(ErrorCode::kAlreadyExists, "'{}' is there already, name another file",
                    options.save);
}

void tell_credit(const AccountArguments& options, const client::AccountInfo& account) {
  if (options.json) return;
  if (!account.test_credit.empty()) {
    fmt::print(
        stderr, "{} has {} of test money to spend on requests{}\n", account.name,
        account.test_credit,
        account.role == "auditor" ? ", none of it for a stake: `auditor` says how to get one" : "");
  } else if (!account.price.empty() && account.role == "consumer") {
    fmt::print(stderr,
               "{0} has no credit yet, and a request costs {1}: the gateway's operator books a "
               "payment (account deposit {0} AMOUNT), or gives some of the credit pool (account "
               "grant {0} AMOUNT)\n",
               account.name, account.price);
  }
}

Result<int> list_tokens(const AccountArguments& options, client::Client& client) {
  COMMENSAL_ASSIGN(const std::string target, tokens_target(options));
  return show_list(options, client, target, "tokens", [](const Json& one) {
    fmt::print("{:<24} made {:<20}  used {:<11}  expires {:<20}  {}\n", text_in(one, "label"),
               time_in(one, "made_ms", "-"), time_in(one, "used_ms", "never").substr(0, 10),
               time_in(one, "expires_ms", "never"), scopes_in(one));
  });
}

Result<int> make_token(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_label(options.name, "token LABEL"));
  COMMENSAL_ASSIGN(const std::string target, tokens_target(options));
  COMMENSAL_TRY(check_save(options, false));
  Json body = {{"label", options.name}};
  if (!options.scopes.empty()) body["scopes"] = options.scopes;
  set_expiry(options, body);
  COMMENSAL_ASSIGN(Json made, post_json(client, target, body));
  return give_secret(options, std::move(made), "token");
}

Result<int> end_token(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_label(options.name, "revoke LABEL"));
  COMMENSAL_ASSIGN(const std::string target, tokens_target(options));
  COMMENSAL_TRY(client.remove(target + "/" + options.name));
  return show_removed(options);
}

Result<int> invite(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_label(options.name, "invite LABEL"));
  COMMENSAL_TRY(check_save(options, false));
  Json body = {{"label", options.name}, {"uses", options.uses}};
  if (!options.credit.empty()) body["credit"] = options.credit;
  set_expiry(options, body);
  COMMENSAL_ASSIGN(Json made, post_json(client, "/v1/invitations", body));
  return give_secret(options, std::move(made), "code");
}

Result<int> list_invitations(const AccountArguments& options, client::Client& client) {
  return show_list(options, client, "/v1/invitations", "invitations", [](const Json& one) {
    fmt::print("{:<24} {:>7} left  expires {:<20}  credit {}\n", text_in(one, "label"),
               text_in(one, "uses_left"), time_in(one, "expires_ms", "never"),
               text_in(one, "credit"));
  });
}

Result<int> end_invitation(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_label(options.name, "uninvite LABEL"));
  COMMENSAL_TRY(client.remove("/v1/invitations/" + options.name));
  return show_removed(options);
}

Result<int> sign_up(const AccountArguments& options, client::Client& client) {
  COMMENSAL_TRY(check_label(options.name, "signup NAME"));
  COMMENSAL_ASSIGN(const std::string code, invitation_code(options));
  COMMENSAL_TRY(check_save(options, false));
  Json body = {{"name", options.name}};
  if (!code.empty()) body["code"] = code;
  COMMENSAL_ASSIGN(Json made, post_json(client, "/v1/signup", body));
  tell_credit(options, {.name = options.name,
                        .role = text_in(made, "role"),
                        .token = "",
                        .test_credit = text_in(made, "test_credit"),
                        .price = text_in(made, "price")});
  return give_secret(options, std::move(made), "token");
}

Result<int> list_acts(const AccountArguments& options, client::Client& client) {
  const std::string target = fmt::format("/v1/audit-log?count={}", options.count);
  return show_list(options, client, target, "acts", [](const Json& one) {
    fmt::print("{:>6} {}  {}/{}  {} {}: {}\n", text_in(one, "number"), time_in(one, "at_ms", "-"),
               text_in(one, "account"), text_in(one, "token"), text_in(one, "act"),
               text_in(one, "on"), text_in(one, "outcome"));
  });
}

}  // namespace commensal::apps
