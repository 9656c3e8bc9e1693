// SPDX-License-Identifier: Apache-2.0
// What clients may change: models, shared memory; and settings, which they may read.
#include <commensal/serve/oip/acts.hpp>
#include <commensal/serve/oip/on_loop.hpp>
#include <commensal/serve/oip/privacy.hpp>
#include <nlohmann/json.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::ModelVersion;
using gateway::ServingConfig;
using Json = nlohmann::ordered_json;
using AskerPtr = std::shared_ptr<Asker>;

/// "" is an empty object. Error: kInvalidArgument.
Result<Json> body_of(const Question& question) {
  if (question.body.empty()) return Json::object();
  Json body = Json::parse(question.body, nullptr, false);
  if (body.is_object()) return body;
  return fail(ErrorCode::kInvalidArgument, "the body is no JSON object");
}

/// Whether `asker` may say how the model is served.
Result<ModelVersion> own_model(const Services& services, const Asker& asker,
                               const std::string& name, std::uint32_t version) {
  COMMENSAL_ASSIGN(const ModelVersion model,
                   services.gateway.hub().find(asker.asker(), name, version));
  const bool is_theirs =
      asker.account.role == gateway::Role::kOperator || asker.account.name == model.owner;
  if (is_theirs) return model;
  return fail(ErrorCode::kPermissionDenied, "'{}' is {}'s: its owner or an operator may",
              model.name, model.owner);
}

/// With what it shall be loaded; empty: as it is kept. Files would be another version.
Result<core::Bytes> override_of(const Question& question) {
  COMMENSAL_ASSIGN(const Json body, body_of(question));
  for (const auto& [name, value] : body.items()) COMMENSAL_TRY(check_unread(name));
  const auto parameters = body.find("parameters");
  if (parameters == body.end()) return core::Bytes();
  if (!parameters->is_object())
    return fail(ErrorCode::kInvalidArgument, "\"parameters\" is no object");
  core::Bytes override;
  for (const auto& [name, value] : parameters->items()) {
    if (name.starts_with("file:")) {
      constexpr std::size_t kFileNameMax = 255;  // NAME_MAX
      if (name.size() > kFileNameMax)
        return fail(ErrorCode::kInvalidArgument, "Invalid file path: it has {} bytes", name.size());
      return fail(ErrorCode::kInternal,
                  "failed to poll from model repository: a version's files do not change, push "
                  "another version");
    }
    COMMENSAL_TRY(check_unread(name));
    if (name != "config") continue;
    if (!value.is_string())
      return fail(ErrorCode::kInvalidArgument, "the parameter \"config\" is no text");
    COMMENSAL_ASSIGN(const std::string config, read_config(value.get<std::string>()));
    const core::ByteView view = core::as_bytes(config);
    override.assign(view.begin(), view.end());
  }
  return override;
}

Result<std::string> load(const Services& services, const Asker& asker, const Question& question) {
  COMMENSAL_ASSIGN(const core::Bytes override, override_of(question));
  COMMENSAL_ASSIGN(const ModelVersion model,
                   own_model(services, asker, question.model, question.version));
  gateway::Repository& repository = services.gateway.hub().repository();
  COMMENSAL_ASSIGN(const auto said, repository.config(model.name, model.version));
  if (said->override != override) {
    ServingConfig now = *said;
    now.override = override;
    COMMENSAL_ASSIGN(const ModelConfig made, config_of(model, now));
    COMMENSAL_TRY(repository.set_config(model.name, model.version, now, made.privacy_class));
  }
  COMMENSAL_TRY(repository.set_loaded(model.name, true));
  return "";
}

Result<std::string> unload(const Services& services, const Asker& asker, const Question& question) {
  COMMENSAL_ASSIGN(const ModelVersion model, own_model(services, asker, question.model, 0));
  COMMENSAL_TRY(services.gateway.hub().repository().set_loaded(model.name, false));
  return "";
}

core::Error not_loaded(const std::string& model, const core::Error& why) {
  if (why.message.starts_with("Invalid file path") ||
      why.message.starts_with("failed to poll from model repository"))
    return why;
  return {why.code, fmt::format("failed to load '{}', {}", model, why.message)};
}

Result<void> check_memory(const Services& services, const Asker& asker) {
  if (!services.serving.options.system_memory) {
    return fail(ErrorCode::kUnsupported,
                "shared memory is not allowed here: the gateway was started without "
                "--shared-memory");
  }
  if (asker.is_local) return {};
  return fail(ErrorCode::kPermissionDenied,
              "shared memory is for clients on the gateway's own host");
}

Json region_json(const SystemMemory::Region& region) {
  return {{"name", region.name},
          {"key", region.key},
          {"offset", region.offset},
          {"byte_size", region.bytes}};
}

/// A whole number of a body, `missing` where it is not there. Error: kInvalidArgument.
Result<std::int64_t> number_in(const Json& body, const char* name,
                               std::optional<std::int64_t> missing) {
  const auto found = body.find(name);
  if (found == body.end() && missing) return *missing;
  const bool is_number = found != body.end() && found->is_number_integer() &&
                         !(found->is_number_unsigned() && found->get<std::uint64_t>() >> 63 != 0);
  if (is_number) return found->get<std::int64_t>();
  return fail(ErrorCode::kInvalidArgument, "\"{}\" is a whole number", name);
}

Result<std::string> register_region(const Services& services, const Asker& asker,
                                    const Question& question) {
  COMMENSAL_TRY(check_memory(services, asker));
  COMMENSAL_ASSIGN(const Json body, body_of(question));
  const auto key = body.find("key");
  if (key == body.end() || !key->is_string())
    return fail(ErrorCode::kInvalidArgument, "\"key\" is the name that shm_open() takes");
  SystemMemory::Region region{.name = question.region, .key = key->get<std::string>()};
  COMMENSAL_ASSIGN(region.offset, number_in(body, "offset", 0));
  COMMENSAL_ASSIGN(region.bytes, number_in(body, "byte_size", std::nullopt));
  COMMENSAL_TRY(services.serving.memory.add(asker.account.name, region));
  return "";
}

/// Whether what a client wants set is what is set anyway.
Result<void> check_settings(const Question& question, const Json& settings) {
  COMMENSAL_ASSIGN(const Json wanted, body_of(question));
  for (const auto& [name, value] : wanted.items()) {
    const auto found = settings.find(name);
    if (found == settings.end())
      return fail(ErrorCode::kInvalidArgument, "unknown setting '{}'", name.substr(0, 64));
    if (value != *found && !value.is_null())
      return fail(ErrorCode::kUnsupported, "the setting '{}' cannot be changed here", name);
  }
  return {};
}

void say_settings(const Question& question, const Answer& answer, const Json& settings) {
  const auto checked = check_settings(question, settings);
  if (!checked) return answer(tl::unexpected(checked.error()));
  answer(settings.dump());
}

}  // namespace

void load_model(const Services& services, AskerPtr asker, Question question, Answer answer) {
  on_loop(services, asker, std::move(answer),
          [&services, asker, question = std::move(question)]() -> Result<std::string> {
            auto loaded = oip::as_act<std::string>(
                services.gateway, *asker, {.what = "model.load", .on = question.model},
                [&] { return load(services, *asker, question); });
            if (loaded) return loaded;
            return tl::unexpected(not_loaded(question.model, loaded.error()));
          });
}

void unload_model(const Services& services, AskerPtr asker, Question question, Answer answer) {
  on_loop(services, asker, std::move(answer),
          [&services, asker, question = std::move(question)]() -> Result<std::string> {
            return oip::as_act<std::string>(services.gateway, *asker,
                                            {.what = "model.unload", .on = question.model},
                                            [&] { return unload(services, *asker, question); });
          });
}

void system_memory_status(const Services& services, AskerPtr asker, Question question,
                          Answer answer) {
  const auto said = [&]() -> Result<std::string> {
    COMMENSAL_ASSIGN(const auto regions,
                     services.serving.memory.list(asker->account.name, question.region));
    Json list = Json::array();
    for (const auto& region : regions) list.push_back(region_json(region));
    return list.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  answer(said());
}

void register_system_memory(const Services& services, AskerPtr asker, Question question,
                            Answer answer) {
  answer(register_region(services, *asker, question));
}

void unregister_system_memory(const Services& services, AskerPtr asker, Question question,
                              Answer answer) {
  services.serving.memory.remove(asker->account.name, question.region);
  answer("");
}

void cuda_memory_status(const Services&, AskerPtr, Question question, Answer answer) {
  if (question.region.empty()) return answer("[]");
  answer(fail(ErrorCode::kNotFound, "Unable to find cuda shared memory region: '{}'",
              question.region.substr(0, 64)));
}

void register_cuda_memory(const Services&, AskerPtr, Question question, Answer answer) {
  answer(fail(ErrorCode::kInvalidArgument,
              "failed to register CUDA shared memory region: '{}', GPUs not supported",
              question.region.substr(0, 64)));
}

void unregister_cuda_memory(const Services&, AskerPtr, Question, Answer answer) { answer(""); }

void trace_settings(const Services&, AskerPtr, Question question, Answer answer) {
  const Json settings = {{"trace_level", {"OFF"}}, {"trace_rate", "1000"},
                         {"trace_count", "-1"},    {"log_frequency", "0"},
                         {"trace_file", ""},       {"trace_mode", "triton"}};
  say_settings(question, answer, settings);
}

void log_settings(const Services&, AskerPtr, Question question, Answer answer) {
  const Json settings = {{"log_file", ""},    {"log_info", true},       {"log_warning", true},
                         {"log_error", true}, {"log_verbose_level", 0}, {"log_format", "default"}};
  say_settings(question, answer, settings);
}

}  // namespace commensal::oip
