// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/fields.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/http/head.hpp>
#include <iterator>

namespace commensal::http {

namespace {

namespace beast = boost::beast;
namespace beast_http = boost::beast::http;

constexpr int kNoContent = 204;

constexpr int kNotModified = 304;

std::string text_of(beast::string_view text) { return {text.data(), text.size()}; }

/// RFC 9110, section 5.3: fields of one name are one list.
std::string all_of(const beast_http::fields& head, beast_http::field name) {
  std::string all;
  const auto [first, last] = head.equal_range(name);
  for (auto field = first; field != last; ++field) {
    all += (field == first ? "" : ",") + text_of(field->value());
  }
  return all;
}

/// Those that routes read of their own, by names in lower case.
Params fields_of(const beast_http::fields& head) {
  Params fields;
  for (const auto& field : head) {
    std::string name = text_of(field.name_string());
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const bool is_read =
        name.starts_with("upload-") || name.starts_with("tus-") || name == "content-type";
    if (is_read) fields.insert_or_assign(std::move(name), text_of(field.value()));
  }
  return fields;
}

/// "" where it is missing or there are several.
std::string only_of(const beast_http::request_header<beast_http::fields>& head,
                    beast::string_view name) {
  return head.count(name) == 1 ? text_of(head[name]) : "";
}

}  // namespace

std::optional<Refusal> refusal_of(const beast::error_code& error) {
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow)
    return Refusal{431,
                   fmt::format("the header has more than {} bytes", limits::kHttpHeaderBytesMax)};
  if (error == beast_http::error::body_limit)
    return Refusal{413, "the body is larger than what is accepted here"};
  if (error == beast_http::error::bad_version) return Refusal{505, "HTTP/1.1 is spoken here"};
  if (error == beast_http::error::end_of_stream || error == beast_http::error::partial_message ||
      error.category() != make_error_code(beast_http::error::bad_method).category())
    return std::nullopt;
  return Refusal{400, fmt::format("this is no HTTP/1.1 request: {}", error.message())};
}

std::optional<Refusal> refusal_of(const beast_http::request_header<beast_http::fields>& head) {
  if (head.version() != 10 && head.version() != 11) return Refusal{505, "HTTP/1.1 is spoken here"};
  const auto transfer = head.find(beast_http::field::transfer_encoding);
  if (transfer != head.end() && !beast::iequals(transfer->value(), "chunked"))
    return Refusal{415, "the only transfer encoding that is understood is \"chunked\""};
  if (!coding_of(all_of(head, beast_http::field::content_encoding)))
    return Refusal{415, "bodies are understood as they are, and encoded as one of gzip, deflate"};
  const auto expect = head.find(beast_http::field::expect);
  if (expect != head.end() && !beast::iequals(expect->value(), "100-continue"))
    return Refusal{417, "the only expectation that is met is \"100-continue\""};
  return std::nullopt;
}

observe::RequestTag tag_of(const beast_http::request_header<beast_http::fields>& head,
                           observe::Observer& observer) {
  return observer.tag(only_of(head, "X-Request-Id"), only_of(head, "traceparent"));
}

Request request_of(const beast_http::request_header<beast_http::fields>& head) {
  Request request;
  request.method = text_of(head.method_string());
  request.target = text_of(head.target());
  request.from.authorization = text_of(head[beast_http::field::authorization]);
  const auto json_bytes = head.find("Inference-Header-Content-Length");
  if (json_bytes != head.end()) request.json_bytes = text_of(json_bytes->value());
  request.fields = fields_of(head);
  request.coding = coding_of(all_of(head, beast_http::field::content_encoding)).value();
  request.if_none_match = all_of(head, beast_http::field::if_none_match);
  request.accepted = accepted_coding(all_of(head, beast_http::field::accept_encoding));
  return request;
}

std::string response_head(const Response& response, bool keep_alive, std::int64_t now_ms) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nServer: commensal\r\nDate: {}\r\nConnection: {}\r\n", response.status,
      reason_phrase(response.status), http_date(now_ms), keep_alive ? "keep-alive" : "close");
  // Neither has a body; of 204 see RFC 9110, section 8.6, and 304 says nothing of the file's.
  if (response.status != kNotModified && response.status != kNoContent) {
    fmt::format_to(std::back_inserter(head), "Content-Type: {}\r\nContent-Length: {}\r\n",
                   response.content_type, response.text.size() + response.rest.size());
  }
  for (const auto& [name, value] : response.headers)
    fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  return head + "\r\n";
}

}  // namespace commensal::http
