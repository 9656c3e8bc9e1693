// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/version.hpp>
#include <commensal/serve/http/openapi.hpp>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

using Json = nlohmann::ordered_json;

/// What the table of routes does not say: what it is for, and the schema (kSchemas) of what is sent
/// and answered; "": JSON of our own (docs/http.md), "bytes": a file, "text", "page".
struct About {
  std::string_view route;
  std::string_view summary;
  std::string_view sent = "";
  std::string_view answered = "";
};
constexpr About kAbout[] = {
    {"GET /openapi.json", "This document", "", ""},
    {"GET /metrics", "Figures for operators, as Prometheus reads them", "", "text"},
    {"GET /", "The page, for browsers", "", "page"},
    {"GET /page/{file}", "What the page consists of", "", "page"},
    {"GET /v2", "Server metadata", "", "ServerMetadata"},
    {"GET /v2/health/live", "Whether the server lives", "", "Live"},
    {"GET /v2/health/ready", "Whether the server can take requests", "", "Ready"},
    {"GET /v2/models/stats", "Statistics of all models", "", "Statistics"},
    {"GET /v2/models/{model}", "Metadata of a model", "", "ModelMetadata"},
    {"GET /v2/models/{model}/ready", "Whether a model can take requests", "", "Ready"},
    {"GET /v2/models/{model}/config", "How a model is served", "", "ModelConfig"},
    {"GET /v2/models/{model}/stats", "Statistics of a model", "", "Statistics"},
    {"GET /v2/models/{model}/trace/setting", "Trace settings of a model", "", "Settings"},
    {"POST /v2/models/{model}/trace/setting", "Change them: not supported", "Settings", "Settings"},
    {"GET /v2/models/{model}/versions/{version}", "Metadata of a version", "", "ModelMetadata"},
    {"GET /v2/models/{model}/versions/{version}/ready", "Whether a version can take requests", "",
     "Ready"},
    {"GET /v2/models/{model}/versions/{version}/config", "How a version is served", "",
     "ModelConfig"},
    {"GET /v2/models/{model}/versions/{version}/stats", "Statistics of a version", "",
     "Statistics"},
    {"POST /v2/models/{model}/infer", "Inference", "InferenceRequest", "InferenceResponse"},
    {"POST /v2/models/{model}/versions/{version}/infer", "Inference by a version",
     "InferenceRequest", "InferenceResponse"},
    {"POST /v2/repository/index", "Models and their state", "IndexRequest", "Index"},
    {"POST /v2/repository/models/{model}/load", "Serve a model", "Parameters", "Nothing"},
    {"POST /v2/repository/models/{model}/unload", "Serve a model no longer", "Parameters",
     "Nothing"},
    {"GET /v2/systemsharedmemory/status", "Own regions of shared memory", "", "Regions"},
    {"GET /v2/systemsharedmemory/region/{region}/status", "A region", "", "Regions"},
    {"POST /v2/systemsharedmemory/region/{region}/register", "Register a region", "Region",
     "Nothing"},
    {"POST /v2/systemsharedmemory/region/{region}/unregister", "Unregister a region", "",
     "Nothing"},
    {"POST /v2/systemsharedmemory/unregister", "Unregister all own regions", "", "Nothing"},
    {"GET /v2/cudasharedmemory/status", "Regions of CUDA: none", "", "Regions"},
    {"GET /v2/cudasharedmemory/region/{region}/status", "A region of CUDA: none", "", "Regions"},
    {"POST /v2/cudasharedmemory/region/{region}/register", "Not supported", "", "Nothing"},
    {"POST /v2/cudasharedmemory/region/{region}/unregister", "Nothing to do", "", "Nothing"},
    {"POST /v2/cudasharedmemory/unregister", "Nothing to do", "", "Nothing"},
    {"GET /v2/trace/setting", "Trace settings", "", "Settings"},
    {"POST /v2/trace/setting", "Change them: not supported", "Settings", "Settings"},
    {"GET /v2/logging", "Log settings", "", "Settings"},
    {"POST /v2/logging", "Change them: not supported", "Settings", "Settings"},
    {"GET /v1/models", "Models, 64 KiB at a time"},
    {"PUT /v1/models/{model}", "Push a version of a model", "bytes"},
    {"GET /v1/models/{model}", "The newest version of a model"},
    {"DELETE /v1/models/{model}", "Delete a model"},
    {"POST /v1/models/{model}/providers", "Who may run a private model"},
    {"GET /v1/models/{model}/content", "The newest version's ONNX file", "", "bytes"},
    {"GET /v1/models/{model}/versions/{version}", "A version of a model"},
    {"GET /v1/models/{model}/versions/{version}/content", "A version's ONNX file", "", "bytes"},
    {"OPTIONS /v1/uploads", "What is understood of tus 1.0"},
    {"POST /v1/uploads", "Announce a model's file that comes in pieces"},
    {"GET /v1/uploads", "Own unfinished uploads"},
    {"GET /v1/uploads/{upload}", "How far an upload is"},
    {"PATCH /v1/uploads/{upload}", "The next piece", "bytes"},
    {"DELETE /v1/uploads/{upload}", "Give an upload up"},
    {"OPTIONS /v1/uploads/{upload}", "What is understood of tus 1.0"},
    {"POST /v1/uploads/{upload}/push", "Make a version of what was uploaded"},
    {"GET /v1/models/{model}/accounts", "Who may use a private model"},
    {"PUT /v1/models/{model}/accounts/{account}", "Let an account use a private model"},
    {"DELETE /v1/models/{model}/accounts/{account}", "Let it do so no longer"},
    {"PUT /v1/models/{model}/config", "How the newest version is served"},
    {"PUT /v1/models/{model}/versions/{version}/config", "How a version is served"},
    {"GET /v1/explore", "Models by words, task and modality"},
    {"GET /v1/models/{model}/card", "What its owner says of a model"},
    {"PUT /v1/models/{model}/card", "Say it, in Markdown with YAML before it", "bytes"},
    {"DELETE /v1/models/{model}/card", "Say no more"},
    {"GET /v1/models/{model}/speed", "How fast providers answer a model"},
    {"GET /v1/aliases", "Names of one part for models"},
    {"PUT /v1/aliases/{alias}", "Name a model"},
    {"DELETE /v1/aliases/{alias}", "Forget a name"},
    {"GET /v1/account", "Who I am"},
    {"POST /v1/accounts", "Create an account"},
    {"GET /v1/accounts", "Accounts by name, a page of them"},
    {"DELETE /v1/accounts/{account}", "End an account"},
    {"POST /v1/account/token", "A new token in place of all one's own"},
    {"POST /v1/accounts/{account}/token", "A new token in place of all of an account"},
    {"GET /v1/account/tokens", "Own tokens, but for themselves"},
    {"POST /v1/account/tokens", "One more token of one's own"},
    {"DELETE /v1/account/tokens/{token}", "End a token of one's own, by its label"},
    {"GET /v1/accounts/{account}/tokens", "An account's tokens, but for themselves"},
    {"POST /v1/accounts/{account}/tokens", "One more token of an account"},
    {"DELETE /v1/accounts/{account}/tokens/{token}", "End a token of an account, by its label"},
    {"POST /v1/signup", "Make oneself an account"},
    {"GET /v1/invitations", "Invitations, but for their codes"},
    {"POST /v1/invitations", "Invite so many to sign up"},
    {"DELETE /v1/invitations/{invitation}", "End an invitation, by its label"},
    {"GET /v1/audit-log", "What operators have done, newest first"},
    {"GET /v1/holders", "Which providers have one's models"},
    {"GET /v1/providers", "Providers and their state"},
    {"GET /v1/providers/{provider}/facts", "What is known of a provider"},
    {"GET /v1/receipts", "Receipts, newest first"},
    {"GET /v1/receipts/{receipt}", "A receipt"},
    {"GET /v1/receipts/{receipt}/opening", "What a receipt stands for", "", "bytes"},
    {"GET /v1/receipts/{receipt}/quote", "What it is worth"},
    {"GET /v1/claims", "Open claims"},
    {"GET /v1/ledger", "Entries of the ledger"},
    {"GET /v1/balances", "Balances"},
    {"GET /v1/tickets", "Tickets"},
    {"POST /v1/deposits", "Add money to an account"},
    {"POST /v1/withdrawals", "Pay money out"},
    {"POST /v1/locks", "Lock money for tickets"},
    {"POST /v1/credits", "Grant test credit"},
    {"POST /v1/transactions", "A signed transaction for the ledger", "bytes"},
    {"POST /v1/rollouts", "Start a rollout of many steps", "", "Rollout"},
    {"GET /v1/rollouts", "Own rollouts, by ?key= those whose keys begin so", "", "Rollouts"},
    {"GET /v1/rollouts/{rollout}", "How far a rollout is", "", "Rollout"},
    {"DELETE /v1/rollouts/{rollout}", "Cancel a rollout", "", "Rollout"},
    {"GET /v1/rollouts/{rollout}/record", "What is kept of it", "", "bytes"},
    {"GET /v1/rollouts/{rollout}/steps/{step}", "A step and its receipt", "", "bytes"},
    {"POST /v1/audits", "Take an audit", "", "bytes"},
    {"POST /v1/audits/{receipt}", "Answer an audit"},
    {"GET /v1/cases", "Open cases"},
    {"GET /v1/cases/next", "The next case of a party", "", "bytes"},
    {"GET /v1/cases/{subject}", "Cases about a receipt, and where their disputes stand or ended"},
    {"POST /v1/cases/{subject}/nonce", "Disclose a nonce"},
};

// Source: KServe, "Open Inference Protocol (V2)"; Triton's extensions of it.
constexpr std::string_view kSchemas =
    R"({
  "Error": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"},
    "code": {"type": "string"}}},
  "Rollout": {"type": "object", "required": ["rollout", "state", "steps_done", "steps"],
    "additionalProperties": true, "properties": {"rollout": {"type": "string"}, "state": {"enum": [
    "running", "finished", "failed", "caught", "cancelled"]}, "reason": {"type": "string"},
    "reason_code": {"type": "string", "description":
    "not-finite: of failed, the next state would not be finite, as was seen or as is claimed"},
    "steps_done": {"type": "integer"}, "steps": {"type": "integer"}, "trusted_steps": {"type":
    "integer"}, "confirmed_steps": {"type": "integer"}}},
  "Rollouts": {"type": "object", "required": ["rollouts"], "properties": {"rollouts": {"type":
    "array", "items": {"$ref": "#/components/schemas/Rollout"}}}},
  "Nothing": {},
  "Live": {"type": "object", "properties": {"live": {"type": "boolean"}}},
  "Ready": {"type": "object", "properties": {"name": {"type": "string"}, "ready": {"type":
    "boolean"}}},
  "Parameters": {"type": "object", "properties": {"parameters": {"type": "object",
    "additionalProperties": true}}},
  "Settings": {"type": "object", "additionalProperties": true},
  "ServerMetadata": {"type": "object", "required": ["name", "version", "extensions"],
    "properties": {"name": {"type": "string"}, "version": {"type": "string"}, "extensions": {
    "type": "array", "items": {"type": "string"}}}},
  "Datatype": {"type": "string", "enum": ["BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8",
    "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BF16", "BYTES"]},
  "TensorMetadata": {"type": "object", "required": ["name", "datatype", "shape"], "properties":
    {"name": {"type": "string"}, "datatype": {"$ref": "#/components/schemas/Datatype"}, "shape":
    {"type": "array", "items": {"type": "integer"}}}},
  "ModelMetadata": {"type": "object", "required": ["name", "platform", "inputs", "outputs"],
    "properties": {"name": {"type": "string"}, "platform": {"type": "string"}, "versions": {
    "type": "array", "items": {"type": "string"}}, "inputs": {"type": "array", "items": {"$ref":
    "#/components/schemas/TensorMetadata"}}, "outputs": {"type": "array", "items": {"$ref":
    "#/components/schemas/TensorMetadata"}}}},
  "ModelConfig": {"type": "object", "additionalProperties": true, "description":
    "inference.ModelConfig of proto/inference/model_config.proto"},
  "Statistics": {"type": "object", "properties": {"model_stats": {"type": "array", "items": {
    "type": "object", "additionalProperties": true}}}},
  "RequestInput": {"type": "object", "required": ["name", "shape", "datatype"], "properties": {
    "name": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer"}},
    "datatype": {"$ref": "#/components/schemas/Datatype"}, "parameters": {"type": "object",
    "properties": {"binary_data_size": {"type": "integer"}, "shared_memory_region": {"type":
    "string"}, "shared_memory_offset": {"type": "integer"}, "shared_memory_byte_size": {"type":
    "integer"}}}, "data": {"type": "array", "items": {}}}},
  "RequestOutput": {"type": "object", "required": ["name"], "properties": {"name": {"type":
    "string"}, "parameters": {"type": "object", "properties": {"binary_data": {"type": "boolean"
    }, "classification": {"type": "integer"}, "shared_memory_region": {"type": "string"},
    "shared_memory_offset": {"type": "integer"}, "shared_memory_byte_size": {"type": "integer"}}
    }}},
  "InferenceRequest": {"type": "object", "required": ["inputs"], "properties": {"id": {"type":
    "string"}, "parameters": {"type": "object", "properties": {"binary_data_output": {"type":
    "boolean"}, "timeout": {"type": "integer"}, "priority": {"type": "integer"},
    "sequence_id": {"type": ["integer", "string"]},
    "sequence_start": {"type": "boolean"}, "sequence_end": {"type": "boolean"},
    "commensal_draw_commitment": {"type": "string"}, "privacy_class": {"type": "string"}}},
    "inputs": {"type": "array", "items": {
    "$ref": "#/components/schemas/RequestInput"}}, "outputs": {"type": "array", "items": {
    "$ref": "#/components/schemas/RequestOutput"}}}},
  "ResponseOutput": {"type": "object", "required": ["name", "shape", "datatype"], "properties":
    {"name": {"type": "string"}, "shape": {"type": "array", "items": {"type": "integer"}},
    "datatype": {"$ref": "#/components/schemas/Datatype"}, "parameters": {"type": "object",
    "additionalProperties": true}, "data": {"type": "array", "items": {}}}},
  "InferenceResponse": {"type": "object", "required": ["model_name", "outputs"], "properties": {
    "model_name": {"type": "string"}, "model_version": {"type": "string"}, "id": {"type":
    "string"}, "parameters": {"type": "object", "properties": {"commensal_receipt": {"type":
    "string"}, "commensal_provider": {"type": "string"}, "privacy_class": {"type": "string"}}},
    "outputs": {"type": "array", "items":
    {"$ref": "#/components/schemas/ResponseOutput"}}}},
  "IndexRequest": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
  "Index": {"type": "array", "items": {"type": "object", "properties": {"name": {"type":
    "string"}, "version": {"type": "string"}, "state": {"type": "string"}, "reason": {"type":
    "string"}}}},
  "Region": {"type": "object", "required": ["key", "byte_size"], "properties": {"key": {"type":
    "string"}, "offset": {"type": "integer"}, "byte_size": {"type": "integer"}}},
  "Regions": {"type": "array", "items": {"allOf": [{"$ref": "#/components/schemas/Region"}, {
    "type": "object", "properties": {"name": {"type": "string"}}}]}}
})";

Json content(std::string_view schema) {
  if (schema == "text") return {{"text/plain", {{"schema", {{"type", "string"}}}}}};
  if (schema == "page") return {{"text/html", {{"schema", {{"type", "string"}}}}}};
  if (schema == "bytes")
    return {{"application/octet-stream", {{"schema", {{"type", "string"}, {"format", "binary"}}}}}};
  if (schema.empty()) return {{"application/json", {{"schema", Json::object()}}}};
  return {{"application/json",
           {{"schema", {{"$ref", fmt::format("#/components/schemas/{}", schema)}}}}}};
}

/// The words in braces of a path.
Json parameters(std::string_view pattern) {
  Json list = Json::array();
  while (true) {
    const std::size_t begin = pattern.find('{');
    if (begin == std::string_view::npos) return list;
    const std::size_t end = pattern.find('}', begin);
    list.push_back({{"name", pattern.substr(begin + 1, end - begin - 1)},
                    {"in", "path"},
                    {"required", true},
                    {"schema", {{"type", "string"}}}});
    pattern.remove_prefix(end + 1);
  }
}

Json operation(const Route& route) {
  const std::string key = fmt::format("{} {}", route.method, route.pattern);
  const auto* const about = std::ranges::find(kAbout, key, &About::route);
  core::check(about != std::end(kAbout), "a route is described: " + key);
  Json made = {{"summary", about->summary}};
  if (Json path = parameters(route.pattern); !path.empty()) made["parameters"] = std::move(path);
  if (route.method != "GET" && route.method != "DELETE" && route.method != "OPTIONS")
    made["requestBody"] = {{"content", content(about->sent)}};
  made["responses"] = {
      {"2XX", {{"description", "As asked for"}, {"content", content(about->answered)}}},
      {"default", {{"description", "Why not"}, {"content", content("Error")}}}};
  const Json token = {{"token", Json::array()}};
  if (route.scope != Scope::kAny) made["x-scope"] = gateway::name_of(route.scope);
  if (route.auth == Auth::kOptional) made["security"] = {Json::object(), token};
  if (route.auth != Auth::kOptional && route.auth != Auth::kNone) made["security"] = {token};
  return made;
}

std::string document() {
  Json paths = Json::object();
  std::size_t described = 0;
  for (const std::span<const Route> table : all_routes()) {
    described += table.size();
    for (const Route& route : table) {
      std::string method(route.method);
      std::ranges::transform(method, method.begin(), [](char c) { return c - 'A' + 'a'; });
      paths[std::string(route.pattern)][method] = operation(route);
    }
  }
  core::check(described == std::size(kAbout), "what is described is a route");
  return Json({{"openapi", "3.1.0"},
               {"info", {{"title", "Commensal gateway"}, {"version", core::kVersion}}},
               {"paths", std::move(paths)},
               {"components",
                {{"schemas", Json::parse(kSchemas)},
                 {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}})
      .dump();
}

Response show(gateway::Gateway&, const Call&) { return json_response(openapi_document()); }

constexpr Route kRoutes[] = {
    {"GET", "/openapi.json", Auth::kNone, Scope::kAny, limits::kHttpSmallBodyBytesMax,
     on_loop<show>},
};

}  // namespace

const std::string& openapi_document() {
  static const std::string text = document();
  return text;
}

std::span<const Route> openapi_routes() { return kRoutes; }

}  // namespace commensal::http
