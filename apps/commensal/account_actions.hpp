// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/commensal/connection.hpp>
#include <apps/commensal/money_requests.hpp>
#include <commensal/serve/client/client.hpp>
#include <cstdint>
#include <string>
#include <vector>

/// What `commensal account` does about tokens, invitations and the log of operators' acts.
namespace commensal::apps {

struct AccountArguments {
  std::string action = "whoami";
  std::string name;    // of an account, or a label
  std::string amount;  // of money
  std::string reference;
  bool is_operator = false;
  bool is_auditor = false;
  bool is_sure = false;
  std::string save;
  std::string of;  // another's account
  std::vector<std::string> scopes;
  std::int64_t expires_in_s = 0;  // 0: never
  std::uint32_t uses = 1;
  std::string credit;
  std::string code_file;
  std::uint32_t count = 20;
  Connection connection;
  bool json = false;
};

/// What is told once can be saved, over nothing else: made sure before there is any. Errors:
/// kInvalidArgument, kAlreadyExists.
core::Result<void> check_save(const AccountArguments& options, bool replaces);

/// Says what a new account, as the gateway answered it, has to spend, or that it has nothing yet
/// and who gives it some: not among what programs read.
void tell_credit(const AccountArguments& options, const client::AccountInfo& account);

core::Result<int> list_tokens(const AccountArguments& options, client::Client& client);
core::Result<int> make_token(const AccountArguments& options, client::Client& client);
core::Result<int> end_token(const AccountArguments& options, client::Client& client);
core::Result<int> invite(const AccountArguments& options, client::Client& client);
core::Result<int> list_invitations(const AccountArguments& options, client::Client& client);
core::Result<int> end_invitation(const AccountArguments& options, client::Client& client);
core::Result<int> sign_up(const AccountArguments& options, client::Client& client);
core::Result<int> list_acts(const AccountArguments& options, client::Client& client);

}  // namespace commensal::apps
