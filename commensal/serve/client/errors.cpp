// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/serve/client/answers.hpp>
#include <nlohmann/json.hpp>

namespace commensal::client {

namespace {

using core::ErrorCode;
using Json = nlohmann::json;

struct StatusRow {
  int status;
  ErrorCode code;
};
constexpr std::array<StatusRow, 13> kStatuses = {{
    {400, ErrorCode::kInvalidArgument},
    {401, ErrorCode::kUnauthenticated},
    {403, ErrorCode::kPermissionDenied},
    {404, ErrorCode::kNotFound},
    {405, ErrorCode::kUnsupported},
    {408, ErrorCode::kDeadlineExceeded},
    {409, ErrorCode::kAlreadyExists},
    {413, ErrorCode::kResourceExhausted},
    {422, ErrorCode::kUnsupported},
    {429, ErrorCode::kResourceExhausted},
    {501, ErrorCode::kUnsupported},
    {503, ErrorCode::kUnavailable},
    {504, ErrorCode::kDeadlineExceeded},
}};

std::optional<ErrorCode> code_from(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    if (name == core::name_of(static_cast<ErrorCode>(i))) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

}  // namespace

core::Error error_of(const HttpResponse& response) {
  const auto row = std::ranges::find(kStatuses, response.status, &StatusRow::status);
  core::Error error{row == kStatuses.end() ? ErrorCode::kInternal : row->code,
                    fmt::format("the gateway answered with status {}", response.status)};
  const Json json = Json::parse(response.body.begin(), response.body.end(), nullptr, false);
  if (json.is_object() && json.contains("error") && json["error"].is_string())
    error.message = json["error"].get<std::string>();
  if (json.is_object() && json.contains("code") && json["code"].is_string())
    error.code = code_from(json["code"].get<std::string>()).value_or(error.code);
  return error;
}

}  // namespace commensal::client
