// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/openapi.hpp>
#include <commensal/serve/oip/acts.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;

constexpr std::size_t kEncodedBytesMin = 256;  // of an answer: less gets hardly shorter

/// The route for `segments`, or why there is none: 405 names the methods that the path has.
core::Result<const Route*> find_route(const Request& head, const std::vector<std::string>& segments,
                                      Params& params, std::string& allowed) {
  const std::string_view method = head.method;
  const auto all = all_routes();
  const std::array open = {open_metrics_routes()};
  for (const std::span<const Route> table :
       head.is_for_metrics ? std::span<const std::span<const Route>>(open) : all) {
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

/// To give back hundreds of megabytes takes long: large bodies and answers end on the threads that
/// read and write them.
CallPtr new_call(const std::shared_ptr<oip::Turns>& heavy) {
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

/// What has come of the body, as it was before it was encoded; else why not.
std::optional<Response> decode(Call& call) {
  const auto decoded =
      decompress(call.coding, call.body, body_bytes_max(call), call.memory, call.left.get_token());
  if (!decoded) return error_response(decoded.error());
  if (!*decoded) return too_long(call, call.body.size());
  return std::nullopt;
}

void encode(Call& call, Response& response) {
  auto encoded = compress(call.accepted, response.text, call.memory);
  if (!encoded) return;
  response.text = *std::move(encoded);
  response.headers.emplace_back("Content-Encoding", name_of(call.accepted));
}

bool is_encoded(const Call& call, const Response& response) {
  return call.accepted != Coding::kIdentity && call.route->is_json_or_split &&
         response.status == 200 && response.rest.empty() &&
         response.text.size() >= kEncodedBytesMin;
}

/// `reply`, behind what encodes the answer. It does not keep the call, whose client may leave.
Reply encoding(const Services& services, const CallPtr& call, Reply reply) {
  if (call->accepted == Coding::kIdentity || !call->route->is_json_or_split) return reply;
  return [&services, weak = std::weak_ptr(call), reply = std::move(reply)](Response response) {
    CallPtr left = weak.lock();
    if (!left || !is_encoded(*left, response)) return reply(std::move(response));
    const std::string line = left->line;
    const bool is_heavy = response.text.size() >= limits::kHttpHeavyBytesMin;
    auto answer = std::make_shared<Response>(std::move(response));
    Task write = [call = std::move(left), answer, reply] {
      encode(*call, *answer);
      reply(std::move(*answer));
    };
    is_heavy ? services.heavy->post(line, std::move(write)) : services.codec(std::move(write));
  };
}

/// Of an error.
std::string message_of(const Response& response) {
  const auto json = nlohmann::json::parse(response.text, nullptr, false);
  return json.is_object() ? json.value("error", "") : "";
}

}  // namespace

std::array<std::span<const Route>, kRouteTables> all_routes() {
  return {inference_routes(), repository_routes(), management_routes(), card_routes(),
          account_routes(),   money_routes(),      claim_routes(),      rollout_routes(),
          case_routes(),      upload_routes(),     metrics_routes(),    page_routes(),
          openapi_routes()};
}

std::int64_t body_bytes_max(const Call& call) {
  const bool is_json = call.route->is_json_or_split && !call.json_bytes;
  return is_json ? std::min(call.route->body_bytes_max, limits::kHttpJsonBytesMax)
                 : call.route->body_bytes_max;
}

Response too_long(const Call& call, std::uint64_t bytes) {
  const std::int64_t most = body_bytes_max(call);
  return error_response(
      413, fmt::format(
               "the body has {}{} bytes, at most {} are accepted here{}",
               call.coding == Coding::kIdentity ? "" : "in its coding ", bytes, most,
               most < call.route->body_bytes_max ? " as JSON: send tensors as binary data" : ""));
}

void serve(const Services& services, const CallPtr& call, Reply reply) {
  const auto handle = [&services, call, reply = encoding(services, call, std::move(reply))] {
    if (auto refusal = decode(*call)) return reply(*std::move(refusal));
    call->route->handle(services, call, reply);
  };
  const bool is_heavy = call->body.size() >= limits::kHttpHeavyBytesMin ||
                        (call->coding != Coding::kIdentity && call->body.size() > 0);
  is_heavy ? services.heavy->post(call->line, handle) : handle();
}

void admit(const Services& services, const Request& head,
           std::function<void(CallPtr, std::optional<Response>)> done) {
  auto target = Target::parse(head.target);
  if (!target) return done(nullptr, error_response(target.error()));
  CallPtr call = new_call(services.heavy);
  std::string allowed;
  const auto route = find_route(head, target->segments, call->params, allowed);
  if (!route && !allowed.empty()) {
    Response response =
        error_response(405, fmt::format("{} is not served here: {}", head.method, allowed));
    response.headers.emplace_back("Allow", allowed);
    return done(nullptr, std::move(response));
  }
  if (!route) return done(nullptr, error_response(route.error()));
  call->route = *route;
  call->query = std::move(target->query);
  call->json_bytes = head.json_bytes;
  call->coding = head.coding;
  call->accepted = head.accepted;
  call->if_none_match = head.if_none_match;
  call->page = head.page;
  call->fields = head.fields;
  call->tag = head.tag;
  oip::admit(services, head.from, call->route->auth, call->route->scope, call,
             [&services, call, done = std::move(done)](const core::Result<void>& admitted) {
               if (admitted) return done(call, std::nullopt);
               Response refusal = error_response(admitted.error());
               for (auto& [name, value] : refusal.headers) {
                 if (call->has_account && name == "Retry-After")
                   value = std::to_string(services.gateway.quotas().wait_s());
               }
               done(call->has_account ? call : nullptr, std::move(refusal));
             });
}

void once_durable(gateway::Gateway& gateway, const Reply& reply, Task then) {
  gateway.when_durable([reply, then = std::move(then)](const core::Result<void>& kept) {
    kept ? then() : reply(error_response(kept.error()));
  });
}

void reply_durably(gateway::Gateway& gateway, Response response, const Reply& reply) {
  const auto shown = std::make_shared<Response>(std::move(response));
  once_durable(gateway, reply, [shown, reply] { reply(std::move(*shown)); });
}

Response changed(gateway::Gateway& gateway, const Call& call, Change change) {
  Response response;
  gateway::Act act;
  const auto logged = oip::with_act(gateway, call, act, [&] {
    response = change(gateway, call, act);
    act.outcome = response.status < 400 ? "done" : message_of(response);
  });
  return logged ? std::move(response) : error_response(logged.error());
}

core::Result<std::uint32_t> version_of(const Call& call) {
  const auto text = call.params.find("version");
  if (text == call.params.end()) return 0;
  std::uint32_t version = 0;
  const char* end = text->second.data() + text->second.size();
  const auto [stop, error] = std::from_chars(text->second.data(), end, version);
  if (error != std::errc() || stop != end || version == 0)
    return core::fail(core::ErrorCode::kNotFound,
                      "failed to get model version from specified version string '{}' (details: "
                      "versions are 1, 2, ...)",
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

}  // namespace commensal::http
