// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/api.hpp>

namespace commensal::http {

namespace {

using core::Error;
using core::ErrorCode;

/// The route for `segments`, or why there is none: 405 names the methods that the path has.
core::Result<const Route*> find_route(std::string_view method,
                                      const std::vector<std::string>& segments, Params& params,
                                      std::string& allowed) {
  for (const std::span<const Route> table :
       {inference_routes(), management_routes(), money_routes(), claim_routes(), rollout_routes(),
        case_routes()}) {
    for (const Route& route : table) {
      if (!match_path(route.pattern, segments, params)) continue;
      if (route.method == method || (route.method == "GET" && method == "HEAD")) return &route;
      if (allowed.find(route.method) != std::string::npos) continue;
      allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", route.method);
    }
  }
  std::string path;
  for (const std::string& segment : segments) path += "/" + segment;
  path.resize(std::min(path.size(), limits::kTextBytesMax));
  std::ranges::replace_if(
      path, [](char c) { return (c >= 0 && c < ' ') || c == 127; }, '?');
  return core::fail(ErrorCode::kNotFound,
                    "there is no {} {}: models are named OWNER/MODEL, paths begin with /v2 or /v1",
                    method, path);
}

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

std::optional<Response> authorize(gateway::Gateway& gateway, const core::Clock& clock,
                                  const std::string& token, Call& call) {
  auto account = gateway.accounts().authenticate(token);
  if (!account) return error_response(account.error());
  call.account = *std::move(account);
  call.has_account = true;
  call.line = call.account.name;
  if (call.route->auth == Auth::kOperator && call.account.role != gateway::Role::kOperator)
    return error_response(
        {ErrorCode::kPermissionDenied,
         "this is for operators only: use the token whose file the gateway names at its start"});
  if (call.route->auth == Auth::kAuditor && call.account.role == gateway::Role::kConsumer)
    return error_response({ErrorCode::kPermissionDenied,
                           "this is for auditors: use the token of an account of that role"});
  const auto admitted = gateway.quotas().admit(call.account, clock.monotonic_ns());
  if (!admitted) {
    Response refusal = error_response(admitted.error());
    for (auto& [name, value] : refusal.headers) {
      if (name == "Retry-After") value = std::to_string(gateway.quotas().wait_s());
    }
    return refusal;
  }
  auto memory = gateway.quotas().memory().lease(call.account.name);
  if (!memory) return error_response(memory.error());
  call.memory = *std::move(memory);
  return std::nullopt;
}

/// Who asks without a token: rate and memory are those of whose connection it is, an address's or,
/// once one has spoken on it, an account's.
core::Result<core::MemoryBudget::Lease> admit_nobody(const Services& services,
                                                     const Request& head) {
  if (!services.strangers.ask(head.party, services.clock.monotonic_ns())) {
    return core::fail(ErrorCode::kResourceExhausted,
                      "more than {} requests a second without a token from this {}",
                      limits::kStrangerRequestsPerSecond,
                      head.is_strangers ? "address" : "account");
  }
  return services.gateway.quotas().memory().lease(head.party);
}

/// To give back hundreds of megabytes takes long: large bodies and answers end on the threads that
/// read and write them.
CallPtr new_call(const std::shared_ptr<Turns>& heavy) {
  return {new Call, [weak = std::weak_ptr(heavy)](Call* ended) {
            std::shared_ptr<Call> call(ended);
            const auto turns = weak.lock();
            const std::size_t bytes =
                call->body.capacity() + call->response.text.capacity() + call->response.rest.size();
            if (!turns || bytes < limits::kHttpHeavyBytesMin) return;
            const std::string line = call->line;
            turns->post(line, [call = std::move(call)] {});
          }};
}

}  // namespace

void admit(const Services& services, const Request& head,
           std::function<void(CallPtr, std::optional<Response>)> done) {
  auto target = Target::parse(head.target);
  if (!target) return done(nullptr, error_response(target.error()));
  CallPtr call = new_call(services.heavy);
  std::string allowed;
  const auto route = find_route(head.method, target->segments, call->params, allowed);
  if (!route && !allowed.empty()) {
    Response response =
        error_response(405, fmt::format("{} is not served here: {}", head.method, allowed));
    response.headers.emplace_back("Allow", allowed);
    return done(nullptr, std::move(response));
  }
  if (!route) return done(nullptr, error_response(route.error()));
  call->route = *route;
  if (!head.is_strangers) call->line = head.party;
  call->query = std::move(target->query);
  call->json_bytes = head.json_bytes;
  const Auth auth = call->route->auth;
  if (auth == Auth::kNone || (auth == Auth::kOptional && head.authorization.empty())) {
    auto held = admit_nobody(services, head);
    if (!held) return done(nullptr, error_response(held.error()));
    call->memory = *std::move(held);
    return done(std::move(call), std::nullopt);
  }
  auto token = token_of(head.authorization, auth);
  if (!token) return done(nullptr, error_response(token.error()));
  const std::string sent = *std::move(token);
  services.turns->post_for_token(
      sent, [&services, sent, call = std::move(call), done = std::move(done)] {
        std::optional<Response> refusal = authorize(services.gateway, services.clock, sent, *call);
        if (call->has_account) services.turns->remember(sent, call->account.name);
        done(call, std::move(refusal));
      });
}

core::Result<std::uint32_t> version_of(const Call& call) {
  const auto text = call.params.find("version");
  if (text == call.params.end()) return 0;
  std::uint32_t version = 0;
  const char* end = text->second.data() + text->second.size();
  const auto [stop, error] = std::from_chars(text->second.data(), end, version);
  if (error != std::errc() || stop != end || version == 0)
    return core::fail(core::ErrorCode::kNotFound, "unknown version '{}': versions are 1, 2, ...",
                      text->second.substr(0, 32));
  return version;
}

std::string query_of(const Call& call, std::string_view name) {
  const auto found = call.query.find(name);
  return found == call.query.end() ? "" : found->second;
}

core::Result<std::size_t> count_in(const Call& call, std::string_view name, std::size_t most) {
  const std::string text = query_of(call, name);
  std::size_t count = 20;
  if (text.empty()) return count;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  if (error == std::errc() && stop == end && count > 0 && count <= most) return count;
  return core::fail(ErrorCode::kInvalidArgument, "{} is 1 to {}", name, most);
}

core::Result<gateway::ReceiptRecord> find_receipt(gateway::Gateway& gateway, const Call& call) {
  const auto id = core::digest_from_hex(call.params.at("receipt"));
  if (!id)
    return core::fail(ErrorCode::kInvalidArgument, "a receipt's id has 64 hexadecimal digits");
  auto record = gateway.receipts().find(*id);
  if (record && !is_operator(call) && record->account != call.account.name)
    return core::fail(ErrorCode::kNotFound, "unknown receipt {}", core::to_hex(*id));
  return record;
}

core::Result<gateway::ModelVersion> find_model(gateway::Gateway& gateway, const Call& call) {
  COMMENSAL_ASSIGN(const std::uint32_t version, version_of(call));
  return gateway.hub().find(call.asker(), call.params.at("model"), version);
}

void post_writing(const Services& services, const CallPtr& call, const gateway::ModelVersion& model,
                  Task write) {
  constexpr std::size_t kFew = 64;
  constexpr std::size_t kBytesEach = 512;  // of a port or an address, about
  const std::size_t parts =
      model.inputs.size() + model.outputs.size() + model.allowed_providers.size();
  if (parts <= kFew) return services.codec(std::move(write));
  call->memory.note(call->memory.bytes() + static_cast<std::int64_t>(parts * kBytesEach));
  services.lists->post(call->line, std::move(write));
}

}  // namespace commensal::http
