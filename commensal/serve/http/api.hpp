// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/growing_bytes.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/http/compression.hpp>
#include <commensal/serve/http/message.hpp>
#include <commensal/serve/http/page.hpp>
#include <commensal/serve/http/routes.hpp>
#include <commensal/serve/observe/observer.hpp>
#include <commensal/serve/oip/admission.hpp>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

/// What the gateway answers to HTTP, without sockets: a table of routes, and the two steps in which
/// a request is served (who is it? then, with its body, what does it get?).
namespace commensal::http {

using gateway::Scope;
using oip::Asker;
using oip::Auth;
using oip::Services;
using oip::Task;
/// Called once, on any thread.
using Reply = std::function<void(Response)>;

struct Request {
  std::string method;
  std::string target;  // as sent: "/v2/models/a%2Fb/infer?x=1"
  oip::Credentials from;
  std::optional<std::string> json_bytes;  // Inference-Header-Content-Length
  Coding coding = Coding::kIdentity;      // of its body
  Coding accepted = Coding::kIdentity;    // best, of the answer
  std::string if_none_match;              // of who has it already, perhaps
  Params fields = {};                     // Content-Type and those of uploads, by lower-case names
  observe::RequestTag tag = {};
  std::shared_ptr<const Page> page;  // what browsers are shown; null: nothing
  bool is_for_metrics = false;       // it came to where nothing but figures are served
};

struct Route;

/// One request under way.
struct Call : Asker {
  const Route* route = nullptr;
  Params params;
  Params query;
  Params fields;                          // as Request's
  std::optional<std::string> json_bytes;  // Inference-Header-Content-Length
  Coding coding = Coding::kIdentity;      // of `body`, until it is handled
  Coding accepted = Coding::kIdentity;
  std::string if_none_match;
  std::shared_ptr<const Page> page;
  core::GrowingBytes body;
  Response response;  // until it is written
};
using CallPtr = std::shared_ptr<Call>;

struct Route {
  std::string_view method;
  std::string_view pattern;
  Auth auth;
  Scope scope;
  std::int64_t body_bytes_max;
  void (*handle)(const Services& services, CallPtr call, Reply reply);
  /// JSON, of limits::kHttpJsonBytesMax, or JSON and binary tensors. Such answers alone are encoded
  /// where that is asked for: of others Triton's clients do not expect it, though they ask.
  bool is_json_or_split = false;
};

/// Open Inference Protocol (inference_routes.cpp) and /v1 (the other *_routes.cpp).
std::span<const Route> inference_routes();
std::span<const Route> repository_routes();
std::span<const Route> management_routes();
/// Behind management_routes(), whose paths are some of their models' too.
std::span<const Route> card_routes();
std::span<const Route> money_routes();
std::span<const Route> account_routes();
std::span<const Route> claim_routes();
std::span<const Route> rollout_routes();
std::span<const Route> case_routes();
/// What browsers are shown (page.hpp).
std::span<const Route> page_routes();
std::span<const Route> upload_routes();
/// What operators read, and what the listener for nothing else serves anybody.
std::span<const Route> metrics_routes();
std::span<const Route> open_metrics_routes();
/// All of them, openapi.hpp's too, but those of that listener.
inline constexpr std::size_t kRouteTables = 13;
std::array<std::span<const Route>, kRouteTables> all_routes();

/// Step one: finds the route and the account. HEAD is served as GET. `done` gets the call that
/// handle() goes on with once its body is there, or the refusal; on this thread or on the loop.
void admit(const Services& services, const Request& head,
           std::function<void(CallPtr, std::optional<Response>)> done);

/// How long the body may be, encoded or not.
std::int64_t body_bytes_max(const Call& call);
/// Why a body that is longer is refused.
Response too_long(const Call& call, std::uint64_t bytes);

/// Step two: with its body, the call gets what its route has for it. What is large or encoded is
/// read, and encoded, off this thread and off the loop. `reply` is called on any thread.
void serve(const Services& services, const CallPtr& call, Reply reply);

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

/// What changes something: it says in `act` what it is and what it is about, first of all.
using Change = Response (*)(gateway::Gateway& gateway, const Call& call, gateway::Act& act);
/// The log of operators' acts has it, if one of them asks.
Response changed(gateway::Gateway& gateway, const Call& call, Change change);

/// A handler of that, on the loop.
template <Change kChange>
void changes(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(
      line, [&gateway = services.gateway, call = std::move(call), reply = std::move(reply)] {
        reply(changed(gateway, *call, kChange));
      });
}

/// On the loop: goes on once what was read here is durable, or replies why it will never be.
void once_durable(gateway::Gateway& gateway, const Reply& reply, Task then);
/// Likewise: the answer goes out then.
void reply_durably(gateway::Gateway& gateway, Response response, const Reply& reply);

/// A handler that needs the loop only.
template <Response (*kAnswer)(gateway::Gateway&, const Call&)>
void on_loop(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(
      line, [&gateway = services.gateway, call = std::move(call), reply = std::move(reply)] {
        reply_durably(gateway, kAnswer(gateway, *call), reply);
      });
}

}  // namespace commensal::http
