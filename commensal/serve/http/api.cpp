// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/api.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;

/// The route for `segments`, or why there is none: 405 names the methods that the path has.
core::Result<const Route*> find_route(std::string_view method,
                                      const std::vector<std::string>& segments, Params& params,
                                      std::string& allowed) {
  for (const std::span<const Route> table :
       {inference_routes(), repository_routes(), management_routes(), money_routes(),
        claim_routes(), rollout_routes(), case_routes()}) {
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
  call->query = std::move(target->query);
  call->json_bytes = head.json_bytes;
  oip::admit(services, head.from, call->route->auth, call,
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
