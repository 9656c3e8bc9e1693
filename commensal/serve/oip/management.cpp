// SPDX-License-Identifier: Apache-2.0
// The server and its models, as anybody may ask.
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/version.hpp>
#include <commensal/serve/oip/on_loop.hpp>
#include <nlohmann/json.hpp>

namespace commensal::oip {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
using gateway::ModelVersion;
using Json = nlohmann::ordered_json;
using AskerPtr = std::shared_ptr<Asker>;

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<ModelVersion> find(const Services& services, const Asker& asker, const Question& question) {
  return services.gateway.hub().find(asker.asker(), question.model, question.version);
}

Json ports_json(const std::vector<gateway::ModelPort>& ports, const std::vector<PortConfig>& said,
                bool is_batched) {
  Json list = Json::array();
  for (const gateway::ModelPort& port : ports) {
    const auto config = std::ranges::find(said, port.name, &PortConfig::name);
    if (config == said.end()) continue;  // a control input, which no client sends
    std::vector<std::int64_t> shape = port.declared.dims;
    if (is_batched || config->reshape) {
      shape = config->dims;
      if (is_batched) shape.insert(shape.begin(), -1);
    }
    list.push_back({{"name", port.name},
                    {"datatype", tensor::traits(port.declared.dtype).oip},
                    {"shape", shape}});
  }
  return list;
}

/// What is written of a model, off the loop.
struct Described {
  std::string name;  // as asked
  ModelVersion model;
  Configs::Ptr config;
  std::uint32_t first = 1, last = 1;
};

Result<Described> describe(const Services& services, const Asker& asker, const Question& question) {
  gateway::ModelHub& hub = services.gateway.hub();
  Described made{.name = question.model};
  COMMENSAL_ASSIGN(made.model, find(services, asker, question));
  COMMENSAL_ASSIGN(made.config, services.serving.configs.of(hub, made.model));
  const auto newest = hub.find(asker.asker(), made.model.name);
  made.last = newest ? newest->version : made.model.version;
  made.first = hub.first_version(made.model.name).value_or(1);
  return made;
}

std::string metadata_json(const Described& described) {
  const ModelConfig& config = *described.config;
  Json versions = Json::array();
  for (std::uint32_t version = described.first; version <= described.last; ++version)
    versions.push_back(std::to_string(version));
  const bool is_batched = config.batch_max > 0;
  return text_of({{"name", described.name},
                  {"versions", versions},
                  {"platform", "commensal_onnx"},
                  {"inputs", ports_json(described.model.inputs, config.inputs, is_batched)},
                  {"outputs", ports_json(described.model.outputs, config.outputs, is_batched)}});
}

Json duration_json(const Duration& one) { return {{"count", one.count}, {"ns", one.ns}}; }

struct Counted {
  std::string name;  // as asked
  std::uint32_t version = 0;
  ModelStatistics of;
};

/// Of one model, or of all that are listed.
Result<std::vector<Counted>> count(const Services& services, const Asker& asker,
                                   const Question& question) {
  std::vector<Counted> counted;
  const auto add = [&](const std::string& name, const ModelVersion& model) {
    const auto of = services.serving.statistics.of({model.name, model.version});
    counted.push_back({name, model.version, of});
  };
  if (!question.model.empty()) {
    COMMENSAL_ASSIGN(const ModelVersion model, find(services, asker, question));
    add(question.model, model);
    return counted;
  }
  COMMENSAL_ASSIGN(const auto models, services.gateway.hub().list(asker.asker(), question.after));
  for (const gateway::ModelPtr& model : models) add(model->name, *model);
  return counted;
}

Json batches_json(const ModelStatistics& of) {
  Json list = Json::array();
  for (const auto& [rows, runs] : of.batches) {
    const Duration nothing{.count = runs.count, .ns = 0};
    list.push_back({{"batch_size", rows},
                    {"compute_input", duration_json(nothing)},
                    {"compute_infer", duration_json(runs)},
                    {"compute_output", duration_json(nothing)}});
  }
  return list;
}

Json statistics_json(const Counted& counted) {
  const ModelStatistics& of = counted.of;
  const Duration nothing{.count = of.success.count, .ns = 0};
  return {{"name", counted.name},
          {"version", std::to_string(counted.version)},
          {"last_inference", of.last_inference_ms},
          {"inference_count", of.inferences},
          {"execution_count", of.executions},
          {"inference_stats",
           {{"success", duration_json(of.success)},
            {"fail", duration_json(of.failure)},
            {"queue", duration_json(of.queue)},
            {"compute_input", duration_json(nothing)},
            {"compute_infer", duration_json(of.infer)},
            {"compute_output", duration_json(nothing)}}},
          {"batch_stats", batches_json(of)}};
}

struct Index {
  std::vector<gateway::ModelPtr> models;
  std::map<std::string, std::string> aliases;  // by model
  bool is_of_ready = false;                    // only those that are
  std::size_t next = 0;
  std::string text;
};

void add_to(Index& index, const Services& services, const ModelVersion& model) {
  const std::string why = services.gateway.why_not_ready(&model);
  if (index.is_of_ready && !why.empty()) return;
  const auto alias = index.aliases.find(model.name);
  index.text += index.text.empty() ? "[" : ",";
  index.text += text_of({{"name", alias == index.aliases.end() ? model.name : alias->second},
                         {"version", std::to_string(model.version)},
                         {"state", why.empty() ? "READY" : "UNAVAILABLE"},
                         {"reason", why}});
}

/// A few in one turn: each is held against all providers.
void index_some(const Services& services, AskerPtr asker, Answer answer,
                std::shared_ptr<Index> index) {
  constexpr std::size_t kInOneTurn = 4;
  if (asker->left.stop_requested())
    return answer(fail(ErrorCode::kCancelled, "the client has left"));
  for (std::size_t i = 0; i < kInOneTurn && index->next < index->models.size(); ++i) {
    add_to(*index, services, *index->models[index->next++]);
    if (index->text.size() > limits::kHttpListBytesMax) index->next = index->models.size();
  }
  if (index->next == index->models.size()) {
    return answer(index->text.empty() ? "[]" : std::move(index->text) + "]");
  }
  const std::string line = asker->line;
  services.turns->post(line, [&services, asker = std::move(asker), answer = std::move(answer),
                              index] { index_some(services, asker, answer, index); });
}

Result<std::shared_ptr<Index>> start_index(const Services& services, const Asker& asker,
                                           const Question& question) {
  gateway::ModelHub& hub = services.gateway.hub();
  auto index = std::make_shared<Index>();
  const Json body = Json::parse(question.body, nullptr, false);
  index->is_of_ready = body.is_object() && body.value("ready", Json()) == true;
  COMMENSAL_ASSIGN(const std::string after, hub.repository().resolve(question.after));
  COMMENSAL_ASSIGN(index->models, hub.list(asker.asker(), after));
  COMMENSAL_ASSIGN(const auto* const aliases, hub.repository().aliases());
  for (const auto& [alias, model] : *aliases) index->aliases.emplace(model, alias);
  return index;
}

}  // namespace

void post_writing(const Services& services, const AskerPtr& asker, const ModelVersion& model,
                  Task write) {
  constexpr std::size_t kFew = 64;
  constexpr std::size_t kBytesEach = 512;  // of a port or an address, about
  const std::size_t parts =
      model.inputs.size() + model.outputs.size() + model.allowed_providers.size();
  if (parts <= kFew) return services.codec(std::move(write));
  asker->memory.note(asker->memory.bytes() + static_cast<std::int64_t>(parts * kBytesEach));
  services.lists->post(asker->line, std::move(write));
}

void server_metadata(const Services& services, AskerPtr, Question, Answer answer) {
  answer(text_of({{"name", services.serving.options.server_name},
                  {"version", core::kVersion},
                  {"extensions",
                   {"binary_tensor_data", "classification", "model_configuration",
                    "model_repository", "sequence", "statistics", "system_shared_memory"}}}));
}

void server_ready(const Services& services, AskerPtr asker, Question, Answer answer) {
  on_loop(services, asker, std::move(answer), [&services]() -> Result<std::string> {
    const std::string why = services.gateway.why_not_ready(nullptr);
    if (!why.empty()) return fail(ErrorCode::kUnavailable, "{}", why);
    return R"({"ready":true})";
  });
}

void model_ready(const Services& services, AskerPtr asker, Question question, Answer answer) {
  on_loop(services, asker, std::move(answer),
          [&services, asker, question = std::move(question)]() -> Result<std::string> {
            COMMENSAL_ASSIGN(const ModelVersion model, find(services, *asker, question));
            const std::string why = services.gateway.why_not_ready(&model);
            if (!why.empty()) return fail(ErrorCode::kUnavailable, "{}", why);
            return text_of({{"name", question.model}, {"ready", true}});
          });
}

void model_metadata(const Services& services, AskerPtr asker, Question question, Answer answer) {
  const std::string line = asker->line;
  services.turns->post(line, [&services, asker = std::move(asker), question = std::move(question),
                              answer = std::move(answer)] {
    auto found = describe(services, *asker, question);
    if (!found) return answer(tl::unexpected(found.error()));
    const auto described = std::make_shared<const Described>(*std::move(found));
    post_writing(services, asker, described->model,
                 [described, asker, answer] { answer(metadata_json(*described)); });
  });
}

void model_config(const Services& services, AskerPtr asker, Question question, Answer answer) {
  on_loop(services, asker, std::move(answer),
          [&services, asker, question = std::move(question)]() -> Result<std::string> {
            COMMENSAL_ASSIGN(const Described described, describe(services, *asker, question));
            Json json = Json::parse(described.config->json);
            json["name"] = described.name;
            return text_of(json);
          });
}

void model_statistics(const Services& services, AskerPtr asker, Question question, Answer answer) {
  const std::string line = asker->line;
  services.turns->post(line, [&services, asker = std::move(asker), question = std::move(question),
                              answer = std::move(answer)] {
    auto counted = count(services, *asker, question);
    if (!counted) return answer(tl::unexpected(counted.error()));
    services.lists->post(asker->line, [asker, answer, counted = *std::move(counted)] {
      Json list = Json::array();
      for (const Counted& one : counted) list.push_back(statistics_json(one));
      answer(text_of({{"model_stats", std::move(list)}}));
    });
  });
}

void repository_index(const Services& services, AskerPtr asker, Question question, Answer answer) {
  const std::string line = asker->line;
  services.turns->post(line, [&services, asker = std::move(asker), question = std::move(question),
                              answer = std::move(answer)] {
    auto index = start_index(services, *asker, question);
    if (!index) return answer(tl::unexpected(index.error()));
    index_some(services, asker, answer, *std::move(index));
  });
}

}  // namespace commensal::oip
