// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/elements.hpp>
#include <commensal/serve/oip/unknown_model.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>
#include <commensal/serve/oip_grpc/messages.hpp>
#include <commensal/serve/oip_grpc/methods.hpp>
#include <utility>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;
using core::Result;
using inference::ModelInferRequest;
using inference::ModelInferResponse;
using inference::ModelStreamInferResponse;

constexpr std::string_view kFinalWanted = "triton_enable_empty_final_response";
constexpr std::string_view kFinal = "triton_final_response";
constexpr std::int64_t kFrameBytes = 1 << 10;  // at most, beside elements and names

/// What is done is paid for: it can still be had.
core::Error undelivered(core::Error why, const std::string& receipt) {
  why.message += fmt::format(
      "; its receipt stands: `commensal receipts {0} --output-dir DIR` writes the outputs",
      receipt);
  return why;
}

Result<void> check_size(std::int64_t bytes) {
  if (bytes <= limits::kGrpcAnswerBytesMax) return {};
  return core::fail(ErrorCode::kResourceExhausted, "the answer has {} bytes, a message at most {}",
                    bytes, limits::kGrpcAnswerBytesMax);
}

/// As far as the model declares its outputs, an answer that cannot be given is not worked for.
Result<void> check_answer(const gateway::ModelVersion& model,
                          const std::vector<oip::RequestedOutput>& wanted,
                          const core::MemoryBudget::Lease& memory) {
  std::int64_t computed = 0, written = 0;
  for (const gateway::ModelPort& port : model.outputs) {
    const auto shape = tensor::Shape::of(port.declared.dims);  // none where a dimension is free
    if (!port.declared.ranked || !port.declared.containers.empty() || !shape) continue;
    const std::int64_t bytes = tensor::TensorType{port.declared.dtype, *shape}.bytes();
    computed += bytes;
    const auto found = std::ranges::find(wanted, port.name, &oip::RequestedOutput::name);
    const bool is_written =
        found == wanted.end() ? wanted.empty() : found->classes == 0 && !found->place;
    if (is_written) written += bytes;
  }
  COMMENSAL_TRY(check_size(written));
  return memory.admits(computed + written);
}

/// What is under way, until it is answered.
struct Inference {
  const oip::Services& services;
  std::shared_ptr<oip::Asker> asker;
  std::vector<oip::RequestedOutput> outputs;
  std::string model, version, id;
  std::function<void(Result<ModelInferResponse>)> done;
};
using InferencePtr = std::shared_ptr<const Inference>;

/// On the loop. The account holds the outputs, and then as much again as is written of them.
void write_answer(const InferencePtr& it, Result<gateway::InferResponse> result) {
  if (!result)
    return it->done(tl::unexpected(oip::in_tritons_words(result.error(), it->model, it->version)));
  auto answer = std::make_shared<Answer>(Answer{.model = it->model,
                                                .version = result->model.version,
                                                .id = it->id,
                                                .receipt = core::to_hex(result->receipt),
                                                .provider = crypto::to_text(result->provider),
                                                .outputs = std::move(result->outputs),
                                                .wanted = it->outputs,
                                                .privacy_class = result->privacy_class});
  const std::string receipt = answer->receipt;
  auto held = choose(answer->outputs, it->outputs);
  std::int64_t bytes = 0;
  for (const tensor::NamedTensor& one : answer->outputs)
    bytes += tensor::held_bytes(one.value) + kFrameBytes + std::ssize(one.name);
  if (held) held = check_size(bytes);
  if (held) held = it->asker->memory.set(2 * bytes);
  if (!held) {
    it->done(tl::unexpected(undelivered(held.error(), receipt)));
    return it->services.codec([freed = std::move(answer)] {});
  }
  oip::Task write = [it, answer = std::move(answer), receipt] {
    const auto placed = oip::write_places(it->services, *it->asker, it->outputs, answer->outputs);
    if (!placed) return it->done(tl::unexpected(undelivered(placed.error(), receipt)));
    it->done(write_response(std::move(*answer)));
  };
  oip::write_answer(it->services, it->asker->line, bytes, std::move(write));
}

void begin(const Request& request, const std::shared_ptr<const ModelInferRequest>& message,
           std::function<void(Result<ModelInferResponse>)> done) {
  auto order = [&]() -> Result<oip::InferRequest> {
    COMMENSAL_ASSIGN(const std::uint32_t version, read_version(message->model_version()));
    COMMENSAL_ASSIGN(oip::InferBody body, read_request(message));
    return oip::InferRequest{.model = message->model_name(),
                             .version = version,
                             .body = std::move(body),
                             .left = request.asker->left.get_token()};
  }();
  if (!order) {
    oip::note_refused(request.services, *request.asker, order.error());
    return done(tl::unexpected(order.error()));
  }
  oip::InferRequest ordered = *std::move(order);
  const auto it = std::make_shared<const Inference>(
      Inference{request.services, request.asker, ordered.body.outputs, message->model_name(),
                message->model_version(), message->id(), std::move(done)});
  ordered.check = [it](const gateway::ModelVersion& model) {
    return check_answer(model, it->outputs, it->asker->memory);
  };
  oip::infer(request.services, request.asker, std::move(ordered),
             [it](Result<gateway::InferResponse> result) { write_answer(it, std::move(result)); });
}

}  // namespace

void infer(Request request, Reply reply) {
  auto message = decode<ModelInferRequest>(request.message, request.asker->memory);
  if (!message) return reply(tl::unexpected(message.error()));
  begin(request, *message, [reply = std::move(reply)](Result<ModelInferResponse> response) {
    if (!response) return reply(tl::unexpected(response.error()));
    reply(encode(*response));
  });
}

void stream_infer(Request request, Reply reply) {
  auto message = decode<ModelInferRequest>(request.message, request.asker->memory);
  if (!message) return reply(tl::unexpected(message.error()));
  const auto& parameters = (*message)->parameters();
  const auto wanted = parameters.find(std::string(kFinalWanted));
  const bool is_final = wanted != parameters.end() && wanted->second.bool_param();
  begin(request, *message,
        [id = (*message)->id(), is_final, asker = request.asker,
         reply](Result<ModelInferResponse> response) {
          ModelStreamInferResponse answer;
          asker->was_refused = !response;
          if (response) {
            *answer.mutable_infer_response() = *std::move(response);
          } else {
            answer.set_error_message(protocol::one_line(response.error().message));
            answer.mutable_infer_response()->set_id(id);
          }
          if (is_final) {
            auto& said = *answer.mutable_infer_response()->mutable_parameters();
            said[std::string(kFinal)].set_bool_param(true);
          }
          reply(encode(answer));
        });
}

}  // namespace commensal::oip_grpc
