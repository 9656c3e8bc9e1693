// SPDX-License-Identifier: Apache-2.0
// How models are called and served, beside what they are.
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/http/api.hpp>
#include <commensal/serve/http/json_parts.hpp>
#include <commensal/serve/oip/acts.hpp>
#include <commensal/serve/oip/management.hpp>
#include <commensal/serve/oip/model_config.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;
using core::Result;
using gateway::Gateway;
using gateway::ModelVersion;
using Json = nlohmann::ordered_json;

/// Error: kInvalidArgument.
Result<Json> object_in(const Call& call) {
  Json body = Json::parse(core::as_text(call.body), nullptr, false);
  if (body.is_object()) return body;
  return core::fail(ErrorCode::kInvalidArgument, "the body is no JSON object");
}

core::Bytes bytes_of(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

Response list_aliases(Gateway& gateway, const Call& call) {
  const auto aliases = gateway.hub().repository().aliases();
  if (!aliases) return error_response(aliases.error());
  Json list = Json::array();
  for (const auto& [alias, model] : **aliases) {
    // Of a private model nobody else learns.
    if (!gateway.hub().find(call.asker(), model)) continue;
    list.push_back({{"alias", alias}, {"model", model}});
  }
  return json_response(text_of({{"aliases", std::move(list)}}));
}

Result<std::string> set_alias(Gateway& gateway, const Call& call) {
  COMMENSAL_ASSIGN(const Json body, object_in(call));
  const auto model = body.find("model");
  if (model == body.end() || !model->is_string() || body.size() != 1)
    return core::fail(ErrorCode::kInvalidArgument, "expected {{\"model\": \"OWNER/MODEL\"}}");
  COMMENSAL_ASSIGN(const ModelVersion found,
                   gateway.hub().find(call.asker(), model->get<std::string>()));
  const std::string& alias = call.params.at("alias");
  COMMENSAL_TRY(gateway.hub().repository().set_alias(alias, found.name));
  return text_of({{"alias", alias}, {"model", found.name}});
}

Response put_alias(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "alias.set";
  act.on = call.params.at("alias");
  auto set = set_alias(gateway, call);
  return set ? json_response(*std::move(set)) : error_response(set.error());
}

Response remove_alias(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "alias.delete";
  act.on = call.params.at("alias");
  const auto removed = gateway.hub().repository().remove_alias(call.params.at("alias"));
  return removed ? json_response("{}") : error_response(removed.error());
}

/// {"config": JSON, or protobuf's text format in a text; "files": {NAME: TEXT}}.
Result<gateway::ServingConfig> config_in(const Call& call) {
  COMMENSAL_ASSIGN(const Json body, object_in(call));
  gateway::ServingConfig made;
  for (const auto& [name, value] : body.items()) {
    if (name == "config") {
      const std::string text = value.is_string() ? value.get<std::string>() : text_of(value);
      COMMENSAL_ASSIGN(const std::string config, oip::read_config(text));
      made.config = bytes_of(config);
    } else if (name == "files" && value.is_object()) {
      for (const auto& [file, text] : value.items()) {
        if (!text.is_string())
          return core::fail(ErrorCode::kInvalidArgument, "the file '{}' is no text",
                            file.substr(0, limits::kNameBytesMax));
        made.files.push_back({file, bytes_of(text.get<std::string>())});
      }
    } else {
      return core::fail(ErrorCode::kInvalidArgument,
                        "unknown member '{}': config, files (an object of texts)",
                        name.substr(0, limits::kNameBytesMax));
    }
  }
  return made;
}

Result<std::string> set_config(const Services& services, const Call& call,
                               const gateway::ServingConfig& said) {
  gateway::ModelHub& hub = services.gateway.hub();
  COMMENSAL_ASSIGN(const ModelVersion model, find_model(services.gateway, call));
  if (!is_operator(call) && call.account.name != model.owner) {
    return core::fail(ErrorCode::kPermissionDenied, "'{}' is {}'s: its owner or an operator may",
                      model.name, model.owner);
  }
  COMMENSAL_ASSIGN(const oip::ModelConfig made, oip::config_of(model, said));
  COMMENSAL_TRY(hub.repository().set_config(model.name, model.version, said, made.privacy_class));
  COMMENSAL_ASSIGN(const auto config, services.serving.configs.of(hub, model));
  return config->json;
}

void put_config(const Services& services, CallPtr call, Reply reply) {
  auto said = config_in(*call);
  if (!said) return reply(error_response(said.error()));
  const std::string line = call->line;
  services.turns->post(
      line, [&services, call = std::move(call), reply = std::move(reply), said = *std::move(said)] {
        auto set = oip::as_act<std::string>(
            services.gateway, *call, {.what = "model.config", .on = call->params.at("model")},
            [&] { return set_config(services, *call, said); });
        reply(set ? json_response(*std::move(set)) : error_response(set.error()));
      });
}

/// {"accounts": [{"account", "content"}]}: who else may use a private model.
Result<std::string> grants_of(Gateway& gateway, const Call& call) {
  COMMENSAL_ASSIGN(const gateway::ModelGrants::Grants grants,
                   gateway.hub().grants(call.account, call.params.at("model")));
  Json list = Json::array();
  for (const auto& [account, grant] : grants)
    list.push_back({{"account", account}, {"content", grant.with_file}});
  return text_of({{"accounts", std::move(list)}});
}

Response list_grants(Gateway& gateway, const Call& call) {
  auto grants = grants_of(gateway, call);
  return grants ? json_response(*std::move(grants)) : error_response(grants.error());
}

/// ?content=1: it may download the file too.
Result<std::string> granted(Gateway& gateway, const Call& call) {
  const std::string content = query_of(call, "content");
  if (call.query.size() > (call.query.contains("content") ? 1u : 0u) ||
      (!content.empty() && content != "0" && content != "1"))
    return core::fail(ErrorCode::kInvalidArgument, "expected ?content=0 or ?content=1 at most");
  const std::string& account = call.params.at("account");
  COMMENSAL_ASSIGN(const auto there, gateway.accounts().find(account));
  if (!there)
    return core::fail(ErrorCode::kNotFound, "unknown account '{}'",
                      account.substr(0, limits::kNameBytesMax));
  COMMENSAL_ASSIGN(
      const std::string model,
      gateway.hub().grant(call.account, call.params.at("model"), account, content == "1"));
  return text_of({{"model", model}, {"account", account}, {"content", content == "1"}});
}

Response grant(Gateway& gateway, const Call& call, gateway::Act& act) {
  act.what = "model.grant";
  act.on = call.params.at("model") + ": " + call.params.at("account");
  auto given = granted(gateway, call);
  return given ? json_response(*std::move(given)) : error_response(given.error());
}

Response revoke(Gateway& gateway, const Call& call, gateway::Act& act) {
  const std::string& account = call.params.at("account");
  act.what = "model.revoke";
  act.on = call.params.at("model") + ": " + account;
  const auto model = gateway.hub().revoke(call.account, call.params.at("model"), account);
  if (!model) return error_response(model.error());
  return json_response(text_of({{"model", *model}, {"account", account}, {"removed", true}}));
}

constexpr std::int64_t kSmall = limits::kHttpSmallBodyBytesMax;

constexpr Route kRoutes[] = {
    {"GET", "/v1/aliases", Auth::kOptional, Scope::kAny, kSmall, on_loop<list_aliases>},
    {"PUT", "/v1/aliases/{alias}", Auth::kOperator, Scope::kModels, kSmall, changes<put_alias>},
    {"DELETE", "/v1/aliases/{alias}", Auth::kOperator, Scope::kModels, kSmall,
     changes<remove_alias>},
    {"GET", "/v1/models/{model}/accounts", Auth::kAccount, Scope::kModels, kSmall,
     on_loop<list_grants>},
    {"PUT", "/v1/models/{model}/accounts/{account}", Auth::kAccount, Scope::kModels, kSmall,
     changes<grant>},
    {"DELETE", "/v1/models/{model}/accounts/{account}", Auth::kAccount, Scope::kModels, kSmall,
     changes<revoke>},
    {"PUT", "/v1/models/{model}/config", Auth::kAccount, Scope::kModels, limits::kConfigBytesMax,
     put_config},
    {"PUT", "/v1/models/{model}/versions/{version}/config", Auth::kAccount, Scope::kModels,
     limits::kConfigBytesMax, put_config},
};

}  // namespace

std::span<const Route> repository_routes() { return kRoutes; }

}  // namespace commensal::http
