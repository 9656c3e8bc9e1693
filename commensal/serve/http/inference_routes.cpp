// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/oip/management.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <commensal/serve/oip/unknown_model.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using gateway::Gateway;
using gateway::ModelVersion;

/// The protocol's errors where they differ from our own routes', after what Triton's clients are
/// told: a model that is not there is a wrong request, what is not supported is not implemented.
Response oip_error(const Call& call, core::Error error) {
  const bool is_missing = error.code == ErrorCode::kNotFound;
  const auto param = [&call](std::string_view name) {
    const auto found = call.params.find(name);
    return found == call.params.end() ? std::string_view() : std::string_view(found->second);
  };
  error = oip::in_tritons_words(std::move(error), param("model"), param("version"));
  Response response = error_response(error);
  if (is_missing) response.status = 400;
  if (error.code == ErrorCode::kUnsupported) response.status = 501;
  return response;
}

Response live(Gateway&, const Call&) { return json_response(R"({"live":true})"); }

/// What the protocol says of server, models and settings.
template <oip::Method kMethod>
void say(const Services& services, CallPtr call, Reply reply) {
  auto version = version_of(*call);
  if (!version) return reply(error_response(version.error()));
  const auto param = [&](std::string_view name) {
    const auto found = call->params.find(name);
    return found == call->params.end() ? std::string() : found->second;
  };
  oip::Question question{.model = param("model"),
                         .version = *version,
                         .region = param("region"),
                         .body = std::string(core::as_text(call->body)),
                         .after = query_of(*call, "after")};
  kMethod(services, call, std::move(question),
          [call, reply = std::move(reply)](core::Result<std::string> answer) {
            reply(answer ? json_response(*std::move(answer)) : oip_error(*call, answer.error()));
          });
}

Response infer_response(EncodedAnswer encoded) {
  Response response = json_response(std::move(encoded.text));
  if (encoded.json_bytes) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length",
                                  std::to_string(*encoded.json_bytes));
  }
  return response;
}

/// What is done is paid for: it can still be had.
Response undelivered(core::Error why, const std::string& receipt) {
  why.message += fmt::format(
      "; its receipt stands: `commensal receipts {0} --output-dir DIR` writes the "
      "outputs, GET /v1/receipts/{0}/opening has them",
      receipt);
  return error_response(why);
}

using Lease = core::MemoryBudget::Lease;

/// The account holds the outputs from now on, and what will be written of them.
core::Result<void> hold(const InferAnswer& answer, const AnswerBytes& bytes, Lease& memory) {
  COMMENSAL_TRY(check_json(bytes));
  return memory.set(bytes.sum() +
                    static_cast<std::int64_t>(receipt::element_bytes(answer.outputs)));
}

/// What is not held by the longest text it may have is counted first. Off the loop.
Response encode(const Services& services, Call& call, const InferAnswer& answer,
                const InferBody& body, AnswerBytes bytes, bool is_held) {
  auto encoded = [&]() -> core::Result<EncodedAnswer> {
    COMMENSAL_TRY(oip::write_places(services, call, body.outputs, answer.outputs));
    if (!is_held) {
      COMMENSAL_ASSIGN(bytes, answer_bytes(answer, body));
      COMMENSAL_TRY(hold(answer, bytes, call.memory));
    }
    return write_infer_answer(answer, body, bytes);
  }();
  if (!encoded) return undelivered(encoded.error(), answer.receipt);
  return infer_response(*std::move(encoded));
}

/// On the loop. Without a call the client has left.
void write_answer(const Services& services, const CallPtr& call, const std::string& model,
                  const std::shared_ptr<const InferBody>& body, const Reply& reply,
                  core::Result<gateway::InferResponse> result) {
  const auto element_bytes = static_cast<std::int64_t>(receipt::element_bytes(result->outputs));
  auto answer =
      std::make_shared<InferAnswer>(InferAnswer{.model = model,
                                                .version = result->model.version,
                                                .id = body->id,
                                                .receipt = core::to_hex(result->receipt),
                                                .provider = crypto::to_text(result->provider),
                                                .outputs = std::move(result->outputs),
                                                .privacy_class = result->privacy_class});
  const auto most = answer_bytes_max(*answer, *body);
  core::Result<void> held;
  bool is_whole = false;
  if (!call || !most) {
    held = call ? tl::unexpected(most.error())
                : core::fail(core::ErrorCode::kCancelled, "the client has left");
  } else if (!(is_whole = hold(*answer, *most, call->memory).has_value())) {
    held = hold(*answer, {.binary = most->binary}, call->memory);
  }
  if (!held) {
    reply(undelivered(held.error(), answer->receipt));
    // Soon, since nobody counts it: not behind what else the account has to have written.
    return services.codec([freed = std::move(answer)] {});
  }
  // The account holds it until it is written, whether anybody is still there or not.
  Task write = [&services, call, body, reply, bytes = *most, is_whole,
                outputs = std::move(answer)]() mutable {
    Response response = encode(services, *call, *outputs, *body, bytes, is_whole);
    outputs.reset();
    reply(std::move(response));
  };
  oip::write_answer(services, call->line, element_bytes, std::move(write));
}

std::optional<tensor::TensorType> known_type(const graph::Declared& declared) {
  if (!declared.ranked || !declared.containers.empty()) return std::nullopt;
  const auto shape = tensor::Shape::of(declared.dims);  // none where a dimension is free
  if (!shape) return std::nullopt;
  return tensor::TensorType{declared.dtype, *shape};
}

/// As far as the model declares its outputs, an answer that cannot be given is not worked for.
core::Result<void> check_answer(const ModelVersion& model, const InferBody& body,
                                const Lease& memory) {
  std::vector<OutputPort> outputs;
  std::int64_t held = 0;
  for (const gateway::ModelPort& port : model.outputs) {
    const auto wanted = std::ranges::find(body.outputs, port.name, &RequestedOutput::name);
    const bool is_classified = wanted != body.outputs.end() && wanted->classes > 0;
    outputs.push_back({port.name, is_classified ? std::nullopt : known_type(port.declared)});
    if (outputs.back().type) held += outputs.back().type->bytes();
  }
  COMMENSAL_ASSIGN(const AnswerBytes least, answer_bytes_min(outputs, body));
  COMMENSAL_TRY(check_json(least));
  return memory.admits(held + least.sum());
}

void infer(const Services& services, CallPtr call, Reply reply) {
  const auto refuse = [&](const core::Error& why) {
    oip::note_refused(services, *call, why);
    reply(oip_error(*call, why));
  };
  for (const auto& [name, value] : call->query) {
    if (const auto unread = oip::check_unread(name); !unread) return refuse(unread.error());
  }
  auto version = version_of(*call);
  if (!version) return refuse(version.error());
  auto parsed = read_infer_body(call->body, call->json_bytes);
  if (!parsed) return refuse(parsed.error());
  call->body.clear();
  // What is sent on is not needed here.
  auto body = std::make_shared<InferBody>(*std::move(parsed));
  oip::InferRequest request{.model = call->params.at("model"),
                            .version = *version,
                            .body = *body,
                            .left = call->left.get_token(),
                            .check = [call, body](const ModelVersion& model) {
                              return check_answer(model, *body, call->memory);
                            }};
  body->inputs.clear();
  oip::infer(services, call, std::move(request),
             [&services, weak = std::weak_ptr(call), model = call->params.at("model"), body,
              reply = std::move(reply)](core::Result<gateway::InferResponse> result) {
               const CallPtr left = weak.lock();
               if (!result && left) return reply(oip_error(*left, result.error()));
               if (!result) return reply(error_response(result.error()));
               write_answer(services, left, model, body, reply, std::move(result));
             });
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kLarge = limits::kHttpBodyBytesMax;
constexpr std::int64_t kConfig = limits::kConfigBytesMax;

// What ends in a word stands before {model}, as no model is called so (Repository).
constexpr Route kRoutes[] = {
    {"GET", "/v2", Auth::kNone, Scope::kAny, kSmall, say<oip::server_metadata>},
    {"GET", "/v2/health/live", Auth::kNone, Scope::kAny, kSmall, on_loop<live>},
    {"GET", "/v2/health/ready", Auth::kNone, Scope::kAny, kSmall, say<oip::server_ready>},
    {"GET", "/v2/models/stats", Auth::kOptional, Scope::kAny, kSmall, say<oip::model_statistics>},
    {"GET", "/v2/models/{model}/ready", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_ready>},
    {"GET", "/v2/models/{model}/config", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_config>},
    {"GET", "/v2/models/{model}/stats", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_statistics>},
    {"GET", "/v2/models/{model}/trace/setting", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::trace_settings>},
    {"POST", "/v2/models/{model}/trace/setting", Auth::kAccount, Scope::kAny, kSmall,
     say<oip::trace_settings>},
    {"GET", "/v2/models/{model}", Auth::kOptional, Scope::kAny, kSmall, say<oip::model_metadata>},
    {"GET", "/v2/models/{model}/versions/{version}", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_metadata>},
    {"GET", "/v2/models/{model}/versions/{version}/ready", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_ready>},
    {"GET", "/v2/models/{model}/versions/{version}/config", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_config>},
    {"GET", "/v2/models/{model}/versions/{version}/stats", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::model_statistics>},
    {"POST", "/v2/models/{model}/infer", Auth::kAccount, Scope::kInfer, kLarge, infer, true},
    {"POST", "/v2/models/{model}/versions/{version}/infer", Auth::kAccount, Scope::kInfer, kLarge,
     infer, true},
    {"POST", "/v2/repository/index", Auth::kOptional, Scope::kAny, kSmall,
     say<oip::repository_index>},
    {"POST", "/v2/repository/models/{model}/load", Auth::kAccount, Scope::kModels, kConfig,
     say<oip::load_model>},
    {"POST", "/v2/repository/models/{model}/unload", Auth::kAccount, Scope::kModels, kSmall,
     say<oip::unload_model>},
    {"GET", "/v2/systemsharedmemory/status", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::system_memory_status>},
    {"GET", "/v2/systemsharedmemory/region/{region}/status", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::system_memory_status>},
    {"POST", "/v2/systemsharedmemory/region/{region}/register", Auth::kAccount, Scope::kInfer,
     kSmall, say<oip::register_system_memory>},
    {"POST", "/v2/systemsharedmemory/region/{region}/unregister", Auth::kAccount, Scope::kInfer,
     kSmall, say<oip::unregister_system_memory>},
    {"POST", "/v2/systemsharedmemory/unregister", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::unregister_system_memory>},
    {"GET", "/v2/cudasharedmemory/status", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::cuda_memory_status>},
    {"GET", "/v2/cudasharedmemory/region/{region}/status", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::cuda_memory_status>},
    {"POST", "/v2/cudasharedmemory/region/{region}/register", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::register_cuda_memory>},
    {"POST", "/v2/cudasharedmemory/region/{region}/unregister", Auth::kAccount, Scope::kInfer,
     kSmall, say<oip::unregister_cuda_memory>},
    {"POST", "/v2/cudasharedmemory/unregister", Auth::kAccount, Scope::kInfer, kSmall,
     say<oip::unregister_cuda_memory>},
    {"GET", "/v2/trace/setting", Auth::kOptional, Scope::kAny, kSmall, say<oip::trace_settings>},
    {"POST", "/v2/trace/setting", Auth::kAccount, Scope::kAny, kSmall, say<oip::trace_settings>},
    {"GET", "/v2/logging", Auth::kOptional, Scope::kAny, kSmall, say<oip::log_settings>},
    {"POST", "/v2/logging", Auth::kAccount, Scope::kAny, kSmall, say<oip::log_settings>},
};

}  // namespace

std::span<const Route> inference_routes() { return kRoutes; }

}  // namespace commensal::http
