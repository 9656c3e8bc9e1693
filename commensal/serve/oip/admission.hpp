// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/memory_budget.hpp>
#include <commensal/serve/observe/request_tag.hpp>
#include <commensal/serve/oip/services.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace commensal::oip {

enum class Auth : std::uint8_t {
  kNone,      // the token is not looked at
  kOptional,  // a token, if there is one, shows more
  kAccount,   // or, where the operator has named one for them, who shows no token
  kToken,     // an account's token
  kAuditor,   // or an operator
  kOperator,
};

/// Who asks, and what is held for that.
struct Asker {
  gateway::Account account;  // of the token; nameless without one
  gateway::Token token;      // that was shown; without a label, if none was
  bool has_account = false;
  bool was_refused = false;  // what it asked, though the answer says so in its own words
  bool is_local = false;     // the client is on this host
  std::string network;       // whose connection it is, while no account has spoken on it; else ""
  std::string line;          // of Turns: the account's, of the token or whose connection it is
  core::MemoryBudget::Lease memory;  // for the request, what is made of it, and the answer
  std::stop_source left;             // the client has: asked to stop while it is answered
  observe::RequestTag tag;           // what the request is called

  const gateway::Account* asker() const { return has_account ? &account : nullptr; }
};

/// What a request shows of who sends it.
struct Credentials {
  std::string authorization;  // "Bearer TOKEN", or ""
  std::string party;          // whose connection it is: core::Place::party
  bool is_strangers = false;  // no account has spoken on that yet
  bool is_local = false;      // it is from this host
};

/// Finds out who asks, and whether it may now, with a token that has this scope. `done` is called
/// once, on this thread or on the loop. Errors: kUnauthenticated, kPermissionDenied,
/// kResourceExhausted (too often, too much).
void admit(const Services& services, const Credentials& credentials, Auth auth,
           gateway::Scope scope, std::shared_ptr<Asker> asker,
           std::function<void(core::Result<void>)> done);

}  // namespace commensal::oip
