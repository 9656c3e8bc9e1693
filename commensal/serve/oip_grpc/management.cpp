// SPDX-License-Identifier: Apache-2.0
// What the protocol says of server, models, shared memory and settings: REST's questions and
// answers (oip/management.hpp), as messages.
#include <google/protobuf/util/json_util.h>
#include <inference/grpc_service.pb.h>

#include <commensal/serve/oip/management.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>
#include <commensal/serve/oip_grpc/messages.hpp>
#include <commensal/serve/oip_grpc/methods.hpp>
#include <nlohmann/json.hpp>
#include <utility>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;
using core::Result;
using oip::Question;
using Json = nlohmann::json;

// Questions.

template <class Message>
Result<Question> nothing(const Message&) {
  return Question{};
}

template <class Message>
Result<Question> model(const Message& message) {
  COMMENSAL_ASSIGN(const std::uint32_t version, read_version(message.version()));
  return Question{.model = message.name(), .version = version};
}

template <class Message>
Result<Question> region(const Message& message) {
  return Question{.region = message.name()};
}

template <class Message>
Result<Question> repository(const Message& message) {
  Json parameters = Json::object();
  for (const auto& [name, value] : message.parameters()) {
    using Parameter = inference::ModelRepositoryParameter;
    Json& said = parameters[name];
    switch (value.parameter_choice_case()) {
      case Parameter::kBoolParam:
        said = value.bool_param();
        break;
      case Parameter::kInt64Param:
        said = value.int64_param();
        break;
      case Parameter::kStringParam:
        said = value.string_param();
        break;
      default:
        said = "";  // bytes: of files, which are refused by their names
    }
  }
  return Question{
      .model = message.model_name(),
      .body =
          Json({{"parameters", parameters}}).dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<Question> registered(const inference::SystemSharedMemoryRegisterRequest& message) {
  return Question{.region = message.name(),
                  .body = Json({{"key", message.key()},
                                {"offset", message.offset()},
                                {"byte_size", message.byte_size()}})
                              .dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Result<Question> traced(const inference::TraceSettingRequest& message) {
  Json body = Json::object();
  for (const auto& [name, values] : message.settings()) {
    const std::vector<std::string> list(values.value().begin(), values.value().end());
    body[name] = name == "trace_level" ? Json(list) : Json(list.empty() ? "" : list.front());
  }
  return Question{.model = message.model_name(), .body = body.dump()};
}

Result<Question> logged(const inference::LogSettingsRequest& message) {
  Json body = Json::object();
  for (const auto& [name, value] : message.settings()) {
    using Value = inference::LogSettingsRequest::SettingValue;
    switch (value.parameter_choice_case()) {
      case Value::kBoolParam:
        body[name] = value.bool_param();
        break;
      case Value::kUint32Param:
        body[name] = value.uint32_param();
        break;
      default:
        body[name] = value.string_param();
    }
  }
  return Question{.body = body.dump()};
}

// Answers, in the shape that their message has as JSON.

Json as_it_is(Json json) { return json; }
Json of_config(Json config) { return {{"config", std::move(config)}}; }
Json of_nothing(Json) { return Json::object(); }

Json of_regions(Json list) {
  Json regions = Json::object();
  for (const Json& one : list) regions[one["name"].get<std::string>()] = one;
  return {{"regions", std::move(regions)}};
}

Json of_trace(Json settings) {
  Json made = Json::object();
  for (auto& [name, value] : settings.items())
    made[name]["value"] = value.is_array() ? value : Json::array({value});
  return {{"settings", std::move(made)}};
}

Json of_log(Json settings) {
  Json made = Json::object();
  for (auto& [name, value] : settings.items()) {
    const char* const kind = value.is_boolean()  ? "bool_param"
                             : value.is_number() ? "uint32_param"
                                                 : "string_param";
    made[name][kind] = value;
  }
  return {{"settings", std::move(made)}};
}

template <class Response>
Result<http2::Message> encode_json(const std::string& text, Json (*shape)(Json)) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  Response response;
  const Json json = shape(text.empty() ? Json::object() : Json::parse(text));
  const auto read = google::protobuf::util::JsonStringToMessage(json.dump(), &response, options);
  if (!read.ok()) {
    return core::fail(ErrorCode::kInternal, "the answer is no {}: {}", response.GetTypeName(),
                      std::string(read.message()));
  }
  return encode(response);
}

template <class Message, class Response, oip::Method kMethod>
void say(Request request, Reply reply, Result<Question> (*question)(const Message&),
         Json (*shape)(Json)) {
  auto message = decode<Message>(request.message, request.asker->memory);
  if (!message) return reply(tl::unexpected(message.error()));
  auto asked = question(**message);
  if (!asked) return reply(tl::unexpected(asked.error()));
  kMethod(request.services, request.asker, *std::move(asked),
          [reply = std::move(reply), shape](Result<std::string> answer) {
            if (!answer) return reply(tl::unexpected(answer.error()));
            reply(encode_json<Response>(*answer, shape));
          });
}

/// REST's pages, one after the other: this protocol has none.
struct Pages {
  Request request;
  Reply reply;
  bool is_of_ready = false;
  std::string after = {};
  inference::RepositoryIndexResponse models = {};
};

void ask_page(const std::shared_ptr<Pages>& pages) {
  oip::repository_index(
      pages->request.services, pages->request.asker, {.after = pages->after},
      [pages](const Result<std::string>& page) {
        if (!page) return pages->reply(tl::unexpected(page.error()));
        oip::Asker& asker = *pages->request.asker;
        constexpr std::int64_t kCopies = 3;  // of a page: its text, as JSON, as messages
        const auto held = asker.memory.set(asker.memory.bytes() + kCopies * std::ssize(*page));
        if (!held) return pages->reply(tl::unexpected(held.error()));
        const Json list = Json::parse(*page);
        for (const Json& one : list) {
          if (pages->is_of_ready && one["state"] != "READY") continue;
          auto& model = *pages->models.add_models();
          model.set_name(one["name"]);
          model.set_version(one["version"]);
          model.set_state(one["state"]);
          model.set_reason(one["reason"]);
        }
        if (list.empty()) return pages->reply(encode(pages->models));
        pages->after = list.back()["name"];
        ask_page(pages);
      });
}

/// What is not ready is no error here.
template <class Message, class Response, oip::Method kMethod>
void say_ready(Request request, Reply reply, Result<Question> (*question)(const Message&)) {
  Reply answer = [reply = std::move(reply)](Result<http2::Message> made) {
    const bool is_not = !made && (made.error().code == ErrorCode::kUnavailable ||
                                  made.error().code == ErrorCode::kNotFound);
    reply(is_not ? encode(Response()) : std::move(made));
  };
  say<Message, Response, kMethod>(std::move(request), std::move(answer), question, as_it_is);
}

}  // namespace

#define COMMENSAL_METHOD(NAME, FUNCTION, QUESTION, SHAPE)                    \
  void FUNCTION(Request request, Reply reply) {                              \
    say<inference::NAME##Request, inference::NAME##Response, oip::FUNCTION>( \
        std::move(request), std::move(reply), QUESTION, SHAPE);              \
  }
COMMENSAL_METHOD(ServerMetadata, server_metadata, nothing, as_it_is)
COMMENSAL_METHOD(ModelMetadata, model_metadata, model, as_it_is)
COMMENSAL_METHOD(ModelConfig, model_config, model, of_config)
COMMENSAL_METHOD(ModelStatistics, model_statistics, model, as_it_is)
COMMENSAL_METHOD(RepositoryModelLoad, load_model, repository, of_nothing)
COMMENSAL_METHOD(RepositoryModelUnload, unload_model, repository, of_nothing)
COMMENSAL_METHOD(SystemSharedMemoryStatus, system_memory_status, region, of_regions)
COMMENSAL_METHOD(SystemSharedMemoryRegister, register_system_memory, registered, of_nothing)
COMMENSAL_METHOD(SystemSharedMemoryUnregister, unregister_system_memory, region, of_nothing)
COMMENSAL_METHOD(CudaSharedMemoryStatus, cuda_memory_status, region, of_regions)
COMMENSAL_METHOD(CudaSharedMemoryRegister, register_cuda_memory, region, of_nothing)
COMMENSAL_METHOD(CudaSharedMemoryUnregister, unregister_cuda_memory, region, of_nothing)
COMMENSAL_METHOD(TraceSetting, trace_settings, traced, of_trace)
COMMENSAL_METHOD(LogSettings, log_settings, logged, of_log)
#undef COMMENSAL_METHOD

void repository_index(Request request, Reply reply) {
  auto message = decode<inference::RepositoryIndexRequest>(request.message, request.asker->memory);
  if (!message) return reply(tl::unexpected(message.error()));
  ask_page(
      std::make_shared<Pages>(Pages{std::move(request), std::move(reply), (*message)->ready()}));
}

void server_ready(Request request, Reply reply) {
  say_ready<inference::ServerReadyRequest, inference::ServerReadyResponse, oip::server_ready>(
      std::move(request), std::move(reply), nothing);
}

void model_ready(Request request, Reply reply) {
  say_ready<inference::ModelReadyRequest, inference::ModelReadyResponse, oip::model_ready>(
      std::move(request), std::move(reply), model);
}

}  // namespace commensal::oip_grpc
