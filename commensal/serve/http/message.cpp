// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/disk_full.hpp>
#include <commensal/serve/http/message.hpp>
#include <ctime>
#include <nlohmann/json.hpp>

namespace commensal::http {

namespace {

using core::ErrorCode;

struct StatusRow {
  ErrorCode code;
  int status;
};
constexpr std::array<StatusRow, 14> kStatuses = {{
    {ErrorCode::kInvalidArgument, 400},
    {ErrorCode::kNotFound, 404},
    {ErrorCode::kAlreadyExists, 409},
    {ErrorCode::kPermissionDenied, 403},
    {ErrorCode::kUnauthenticated, 401},
    {ErrorCode::kFailedPrecondition, 409},
    {ErrorCode::kResourceExhausted, 429},
    {ErrorCode::kUnsupported, 422},
    {ErrorCode::kUnavailable, 503},
    {ErrorCode::kDeadlineExceeded, 504},
    {ErrorCode::kDataLoss, 500},
    {ErrorCode::kCancelled, 503},
    {ErrorCode::kOverBudget, 422},
    {ErrorCode::kInternal, 500},
}};

struct PhraseRow {
  int status;
  std::string_view phrase;
  std::string_view header;  // one that this status asks for
  std::string_view value;
};
constexpr std::array<PhraseRow, 23> kPhrases = {{
    {200, "OK", "", ""},
    {201, "Created", "", ""},
    {204, "No Content", "", ""},
    {304, "Not Modified", "", ""},
    {400, "Bad Request", "", ""},
    {401, "Unauthorized", "WWW-Authenticate", "Bearer realm=\"commensal\""},
    {403, "Forbidden", "", ""},
    {404, "Not Found", "", ""},
    {405, "Method Not Allowed", "", ""},
    {408, "Request Timeout", "", ""},
    {409, "Conflict", "", ""},
    {412, "Precondition Failed", "", ""},
    {413, "Content Too Large", "", ""},
    {415, "Unsupported Media Type", "", ""},
    {417, "Expectation Failed", "", ""},
    {422, "Unprocessable Content", "", ""},
    {429, "Too Many Requests", "Retry-After", "1"},
    {431, "Request Header Fields Too Large", "", ""},
    {500, "Internal Server Error", "", ""},
    {501, "Not Implemented", "", ""},
    {503, "Service Unavailable", "Retry-After", "1"},
    {504, "Gateway Timeout", "", ""},
    {505, "HTTP Version Not Supported", "", ""},
}};

const PhraseRow& phrase_row(int status) {
  const auto row = std::ranges::find(kPhrases, status, &PhraseRow::status);
  core::check(row != kPhrases.end(), "every status in use has a phrase");
  return *row;
}

}  // namespace

int status_of(ErrorCode code) {
  const auto row = std::ranges::find(kStatuses, code, &StatusRow::code);
  core::check(row != kStatuses.end(), "every error code has a status");
  return row->status;
}

std::string_view reason_phrase(int status) { return phrase_row(status).phrase; }

std::string http_date(std::int64_t ms) {
  static constexpr std::string_view kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], 1900 + utc.tm_year, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Response bytes_response(core::Result<core::Bytes> bytes) {
  if (!bytes) return error_response(bytes.error());
  auto owner = std::make_shared<const core::Bytes>(*std::move(bytes));
  Response response;
  response.content_type = "application/octet-stream";
  response.rest = *owner;
  response.owner = std::move(owner);
  return response;
}

Response json_response(std::string text) {
  Response response;
  response.text = std::move(text);
  return response;
}

namespace {

Response refusal(int status, const nlohmann::ordered_json& body) {
  Response response =
      json_response(body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  response.status = status;
  const PhraseRow& row = phrase_row(status);
  if (!row.header.empty()) response.headers.emplace_back(row.header, row.value);
  return response;
}

}  // namespace

Response error_response(int status, std::string_view message) {
  return refusal(status, {{"error", message}});
}

Response error_response(const core::Error& error) {
  const bool is_full = core::is_disk_full(error);
  return refusal(status_of(error.code),
                 {{"error", is_full ? "the gateway's disk is full" : error.message},
                  {"code", core::name_of(error.code)}});
}

}  // namespace commensal::http
