// SPDX-License-Identifier: Apache-2.0
#pragma once

// Within http/ only: this header shows Boost.
#include <boost/beast/http/message.hpp>
#include <commensal/serve/http/api.hpp>
#include <optional>

namespace commensal::http {

/// Why a request is refused before its body is read.
struct Refusal {
  int status = 0;
  std::string message;
};

/// What HTTP has to say about an error of reading; nothing where the client is gone.
std::optional<Refusal> refusal_of(const boost::beast::error_code& error);

/// Refuses what this server does not speak: other versions of HTTP, codings of bodies other than
/// compression.hpp's, expectations other than 100-continue.
std::optional<Refusal> refusal_of(
    const boost::beast::http::request_header<boost::beast::http::fields>& head);

/// What the request is called, refused or not.
observe::RequestTag tag_of(
    const boost::beast::http::request_header<boost::beast::http::fields>& head,
    observe::Observer& observer);

/// What routes see of a head that is not refused.
Request request_of(const boost::beast::http::request_header<boost::beast::http::fields>& head);

/// Status line and header fields, with the blank line. `now_ms` since 1970.
std::string response_head(const Response& response, bool keep_alive, std::int64_t now_ms);

}  // namespace commensal::http
