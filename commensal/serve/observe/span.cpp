// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/version.hpp>
#include <commensal/serve/observe/span.hpp>
#include <nlohmann/json.hpp>

namespace commensal::observe {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFailed = 2;  // STATUS_CODE_ERROR

/// Numbers of 64 bits are texts there.
Json value_json(const Span::Value& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return {{"stringValue", *text}};
  return {{"intValue", std::to_string(std::get<std::int64_t>(value))}};
}

Json attribute_json(std::string_view name, const Span::Value& value) {
  return {{"key", name}, {"value", value_json(value)}};
}

Json span_json(const Span& span) {
  Json json = {{"traceId", span.trace_id}, {"spanId", span.id}};
  if (!span.parent_id.empty()) json["parentSpanId"] = span.parent_id;
  json["name"] = span.name;
  json["kind"] = static_cast<int>(span.kind);
  json["startTimeUnixNano"] = std::to_string(span.begun_ns);
  json["endTimeUnixNano"] = std::to_string(span.ended_ns);
  Json& attributes = json["attributes"] = Json::array();
  for (const auto& [name, value] : span.attributes)
    attributes.push_back(attribute_json(name, value));
  if (span.error) json["status"] = {{"code", kFailed}, {"message", *span.error}};
  return json;
}

}  // namespace

std::string otlp_text(const SpanSource& source, std::span<const Span> spans) {
  const std::string version(core::kVersion);
  Json list = Json::array();
  for (const Span& span : spans) list.push_back(span_json(span));
  Json scope;
  scope["scope"] = {{"name", "commensal"}, {"version", version}};
  scope["spans"] = std::move(list);
  Json resource;
  resource["resource"]["attributes"] =
      Json::array({attribute_json("service.name", source.service),
                   attribute_json("service.instance.id", source.instance),
                   attribute_json("service.version", version)});
  resource["scopeSpans"] = Json::array({std::move(scope)});
  Json all;
  all["resourceSpans"] = Json::array({std::move(resource)});
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace commensal::observe
