// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/json_text.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/verify/receipt/roots.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using gateway::Gateway;
using gateway::ModelVersion;

Response server_metadata(Gateway&, const Call&) { return json_response(server_json()); }

Response live(Gateway&, const Call&) { return json_response(R"({"live":true})"); }

Response ready(Gateway& gateway, const Call&) {
  const std::string why = gateway.why_not_ready(nullptr);
  if (!why.empty()) return error_response({ErrorCode::kUnavailable, why});
  return json_response(R"({"ready":true})");
}

void model_metadata(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    gateway::ModelHub& hub = services.gateway.hub();
    auto found = find_model(services.gateway, *call);
    if (!found) return reply(error_response(found.error()));
    const auto model = std::make_shared<const gateway::ModelVersion>(*std::move(found));
    const auto newest = hub.find(call->asker(), model->name);
    const std::uint32_t last = newest ? newest->version : model->version;
    const std::uint32_t first = hub.first_version(model->name).value_or(1);
    post_writing(services, call, *model, [call, model, first, last, reply] {
      reply(json_response(metadata_json(*model, first, last)));
    });
  });
}

Response model_ready(Gateway& gateway, const Call& call) {
  const auto model = find_model(gateway, call);
  if (!model) return error_response(model.error());
  const std::string why = gateway.why_not_ready(&*model);
  if (!why.empty()) return error_response({ErrorCode::kUnavailable, why});
  return json_response(fmt::format(R"({{"name":{},"ready":true}})", json_quote(model->name)));
}

struct Index {
  std::vector<gateway::ModelPtr> models;
  std::size_t next = 0;
  std::string text;
};

/// A few in one turn: each is held against all providers.
void index_some(const Services& services, CallPtr call, Reply reply, std::shared_ptr<Index> index) {
  constexpr std::size_t kInOneTurn = 4;
  if (call->left.stop_requested()) return;
  for (std::size_t i = 0; i < kInOneTurn && index->next < index->models.size(); ++i) {
    const gateway::ModelVersion& model = *index->models[index->next++];
    index->text += index->text.empty() ? "[" : ",";
    index->text += index_json({model.name, model.version, services.gateway.why_not_ready(&model)});
    if (index->text.size() > limits::kHttpListBytesMax) index->next = index->models.size();
  }
  if (index->next == index->models.size()) {
    return reply(json_response(index->text.empty() ? "[]" : std::move(index->text) + "]"));
  }
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply), index] {
    index_some(services, call, reply, index);
  });
}

/// ?after=NAME: those behind it, up to limits::kHttpListBytesMax.
void repository_index(const Services& services, CallPtr call, Reply reply) {
  const std::string line = call->line;
  services.turns->post(line, [&services, call = std::move(call), reply = std::move(reply)] {
    const auto after = call->query.find("after");
    auto models =
        services.gateway.hub().list(call->asker(), after == call->query.end() ? "" : after->second);
    if (!models) return reply(error_response(models.error()));
    auto index = std::make_shared<Index>();
    index->models = *std::move(models);
    index_some(services, call, reply, std::move(index));
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
Response encode(const InferAnswer& answer, const InferBody& body, AnswerBytes bytes, bool is_held,
                Lease& memory) {
  auto encoded = [&]() -> core::Result<EncodedAnswer> {
    if (!is_held) {
      COMMENSAL_ASSIGN(bytes, answer_bytes(answer, body));
      COMMENSAL_TRY(hold(answer, bytes, memory));
    }
    return write_infer_answer(answer, body, bytes);
  }();
  if (!encoded) return undelivered(encoded.error(), answer.receipt);
  return infer_response(*std::move(encoded));
}

/// On the loop. Without a call the client has left.
void write_answer(const Services& services, const CallPtr& call,
                  const std::shared_ptr<const InferBody>& body, const Reply& reply,
                  core::Result<gateway::InferResponse> result) {
  if (!result) return reply(error_response(result.error()));
  const bool is_heavy = receipt::element_bytes(result->outputs) >= limits::kHttpHeavyBytesMin;
  auto answer =
      std::make_shared<InferAnswer>(InferAnswer{.model = result->model.name,
                                                .version = result->model.version,
                                                .id = body->id,
                                                .receipt = core::to_hex(result->receipt),
                                                .provider = crypto::to_text(result->provider),
                                                .outputs = std::move(result->outputs)});
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
  Task write = [call, body, reply, bytes = *most, is_whole, outputs = std::move(answer)]() mutable {
    Response response = encode(*outputs, *body, bytes, is_whole, call->memory);
    outputs.reset();
    reply(std::move(response));
  };
  is_heavy ? services.heavy->post(call->line, std::move(write)) : services.codec(std::move(write));
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
    outputs.push_back({port.name, known_type(port.declared)});
    if (outputs.back().type) held += outputs.back().type->bytes();
  }
  COMMENSAL_ASSIGN(const AnswerBytes least, answer_bytes_min(outputs, body));
  COMMENSAL_TRY(check_json(least));
  return memory.admits(held + least.sum());
}

void infer(const Services& services, CallPtr call, Reply reply) {
  auto version = version_of(*call);
  if (!version) return reply(error_response(version.error()));
  auto parsed = read_infer_body(call->body, call->json_bytes);
  if (!parsed) return reply(error_response(parsed.error()));
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
  oip::infer(services, *call, std::move(request),
             [&services, weak = std::weak_ptr(call), body,
              reply = std::move(reply)](core::Result<gateway::InferResponse> result) {
               write_answer(services, weak.lock(), body, reply, std::move(result));
             });
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;
constexpr std::int64_t kLarge = limits::kHttpBodyBytesMax;

// {model} stands before {model}/ready: a model may be called "ready".
constexpr Route kRoutes[] = {
    {"GET", "/v2", Auth::kNone, kSmall, on_loop<server_metadata>},
    {"GET", "/v2/health/live", Auth::kNone, kSmall, on_loop<live>},
    {"GET", "/v2/health/ready", Auth::kNone, kSmall, on_loop<ready>},
    {"POST", "/v2/repository/index", Auth::kOptional, kSmall, repository_index},
    {"GET", "/v2/models/{model}", Auth::kOptional, kSmall, model_metadata},
    {"GET", "/v2/models/{model}/versions/{version}", Auth::kOptional, kSmall, model_metadata},
    {"GET", "/v2/models/{model}/ready", Auth::kOptional, kSmall, on_loop<model_ready>},
    {"GET", "/v2/models/{model}/versions/{version}/ready", Auth::kOptional, kSmall,
     on_loop<model_ready>},
    {"POST", "/v2/models/{model}/infer", Auth::kAccount, kLarge, infer, true},
    {"POST", "/v2/models/{model}/versions/{version}/infer", Auth::kAccount, kLarge, infer, true},
};

}  // namespace

std::span<const Route> inference_routes() { return kRoutes; }

}  // namespace commensal::http
