// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The gateway's public face: the Open Inference Protocol (KServe v2) over HTTP/1.1 and the
/// management calls under /v1. This header is what the routes see of HTTP (RFC 9110, RFC 9112);
/// sockets are server.cpp's affair.
namespace commensal::http {

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;
  /// Sent after `text`; `owner` keeps it alive.
  core::ByteView rest;
  std::shared_ptr<const void> owner;
  bool is_file = false;  // `rest` is mapped: it takes no memory of ours
};

/// HTTP status of an error; the one table of it is in message.cpp.
int status_of(core::ErrorCode code);
std::string_view reason_phrase(int status);
/// RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::int64_t ms);

Response json_response(std::string text);
/// Of application/octet-stream.
Response bytes_response(core::Result<core::Bytes> bytes);
/// {"error": "<one line>"} with the status of the error's code, and the headers that this status
/// asks for (WWW-Authenticate, Retry-After).
Response error_response(const core::Error& error);
Response error_response(int status, std::string_view message);

}  // namespace commensal::http
