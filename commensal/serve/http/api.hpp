// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/growing_bytes.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/rates.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/http/message.hpp>
#include <commensal/serve/http/routes.hpp>
#include <commensal/serve/http/turns.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>

/// What the gateway answers to HTTP, without sockets: a table of routes, and the two steps in which
/// a request is served (who is it? then, with its body, what does it get?).
namespace commensal::http {

using Task = std::function<void()>;
/// Called once, on any thread.
using Reply = std::function<void(Response)>;

/// How often each party (core::Place::party: a network, or an account whose connection it is) may
/// ask without a token. Thread-safety: any thread.
class Strangers {
 public:
  /// False where it has asked too often.
  bool ask(const std::string& party, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    return rates_.take(party, now_ns);
  }
  /// It is answered with so many bytes: as if it had asked more often, for a second at most.
  void answer(const std::string& party, std::size_t bytes, std::int64_t now_ns) {
    const std::lock_guard lock(mutex_);
    const auto requests = static_cast<double>(bytes / limits::kStrangerAnswerBytes);
    rates_.charge(party, std::min(requests, limits::kStrangerRequestsPerSecond), now_ns);
  }

 private:
  std::mutex mutex_;
  core::Rates<std::string> rates_{
      limits::kStrangerRequestsPerSecond,
      limits::kStrangerRequestsAtOnce / limits::kStrangerRequestsPerSecond};
};

/// What handlers work with. It and what it refers to outlive all that runs on the loop.
struct Services {
  gateway::Gateway& gateway;
  core::Loop& loop;
  const core::Clock& clock;
  std::shared_ptr<Turns> turns;  // the way to the loop: accounts take turns
  /// Runs a task where bodies are encoded: off the loop, soon.
  std::function<void(Task)> codec;
  /// Runs a task that may take seconds (importing a model), one at a time.
  std::function<void(Task)> staging;
  /// The way to the threads for bodies of limits::kHttpHeavyBytesMin or more: what else is small
  /// does not wait for them, and accounts take turns.
  std::shared_ptr<Turns> heavy;
  /// The way to where bodies are encoded for lists and for long models, one at a time: accounts
  /// take turns.
  std::shared_ptr<Turns> lists;
  Strangers& strangers;
};

struct Route;

/// One request under way.
struct Call {
  const Route* route = nullptr;
  Params params;
  Params query;
  gateway::Account account;  // of the token; nameless without one
  bool has_account = false;
  std::string line;  // of Turns: the account's, of the token or whose connection it is
  std::optional<std::string> json_bytes;  // Inference-Header-Content-Length
  core::GrowingBytes body;
  std::stop_source left;             // the client has: asked to stop while it is answered
  core::MemoryBudget::Lease memory;  // for the body, what is made of it, and the answer
  Response response;                 // until it is written

  const gateway::Account* asker() const { return has_account ? &account : nullptr; }
};
using CallPtr = std::shared_ptr<Call>;

enum class Auth : std::uint8_t {
  kNone,      // the token is not looked at
  kOptional,  // a token, if there is one, shows more
  kAccount,
  kAuditor,  // or an operator
  kOperator,
};

struct Route {
  std::string_view method;
  std::string_view pattern;
  Auth auth;
  std::int64_t body_bytes_max;
  void (*handle)(const Services& services, CallPtr call, Reply reply);
  bool is_json_or_split = false;  // JSON, of limits::kHttpJsonBytesMax, or JSON and binary tensors
};

/// Open Inference Protocol (inference_routes.cpp) and /v1 (the other *_routes.cpp).
std::span<const Route> inference_routes();
std::span<const Route> management_routes();
std::span<const Route> money_routes();
std::span<const Route> claim_routes();
std::span<const Route> rollout_routes();
std::span<const Route> case_routes();

/// Step one: finds the route and the account. HEAD is served as GET. `done` gets the call that
/// handle() goes on with once its body is there, or the refusal; on this thread or on the loop.
void admit(const Services& services, const Request& head,
           std::function<void(CallPtr, std::optional<Response>)> done);

inline bool is_operator(const Call& call) { return call.account.role == gateway::Role::kOperator; }
/// A parameter of the query, "" where it is missing.
std::string query_of(const Call& call, std::string_view name);
/// One that says how many, at most `most`; 20 where it is missing. Error: kInvalidArgument.
core::Result<std::size_t> count_in(const Call& call, std::string_view name, std::size_t most);
/// {receipt} of the path: somebody else's is unknown, as a missing one is. On the loop. Errors:
/// kInvalidArgument, kNotFound.
core::Result<gateway::ReceiptRecord> find_receipt(gateway::Gateway& gateway, const Call& call);
/// {version} of the path; 0, the newest, where the path has none. Error: kNotFound.
core::Result<std::uint32_t> version_of(const Call& call);
/// {model} of the path, in that version, if the asker may see it. On the loop. Error: kNotFound.
core::Result<gateway::ModelVersion> find_model(gateway::Gateway& gateway, const Call& call);

/// Runs `write`, which writes out the model and holds `call` until it has: off the loop, and what
/// is long in its account's line, whose memory it counts as.
void post_writing(const Services& services, const CallPtr& call, const gateway::ModelVersion& model,
                  Task write);

/// A handler that needs the loop only.
template <Response (*kAnswer)(gateway::Gateway&, const Call&)>
void on_loop(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&gateway = services.gateway, call = std::move(call),
                              reply = std::move(reply)] { reply(kAnswer(gateway, *call)); });
}

}  // namespace commensal::http
