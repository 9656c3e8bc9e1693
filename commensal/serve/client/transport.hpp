// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/serve/tls/trust.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commensal::client {

/// Of bytes sent so far and in all.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

struct Url {
  std::string host;
  std::string port;
  bool is_secure = false;
  /// "https://HOST[:PORT]", "http://HOST[:PORT]" or "HOST:PORT" (http on loopback, else https),
  /// HOST a name, an IPv4 address or an IPv6 one in brackets. Error: kInvalidArgument.
  static core::Result<Url> parse(std::string_view text);
};

struct HttpRequest {
  std::string_view method;
  std::string target;
  std::string token;                                              // Bearer, or ""
  std::string content_type;                                       // where there is a body
  std::vector<std::pair<std::string, std::string>> headers = {};  // besides
  std::optional<std::size_t> json_bytes;                          // Inference-Header-Content-Length
  std::span<const core::ByteView> parts;                          // of the body, in order
  Progress progress;                                              // of the body that is sent
  Progress received;                                              // of the answer's
};
struct HttpResponse {
  int status = 0;
  std::optional<std::string> json_bytes;
  core::Bytes body;
};

/// One HTTP/1.1 connection, opened when it is needed and kept for the next request. Blocks; every
/// step that brings no byte within `wait_ms` ends it. A request is never sent twice. With https
/// nothing is said to a gateway that `trust` does not cover.
/// Thread-safety: one thread at a time.
class Transport {
 public:
  /// `from`: an address of this machine to come from, or "": the system's choice. `whom`: what
  /// errors call who is there.
  Transport(Url url, std::int64_t wait_ms, tls::Trust trust = {}, std::string from = {},
            std::string whom = "the gateway");
  Transport(Transport&&) noexcept;
  Transport& operator=(Transport&&) noexcept;
  ~Transport();

  /// Before there is a request, for who likes to be early. Errors: send()'s.
  core::Result<void> connect();
  /// The gateway has not closed it.
  bool is_connected();
  /// Errors: kUnavailable (no connection, or lost), kDeadlineExceeded, kDataLoss (no HTTP),
  /// kUnauthenticated (not trusted), kInvalidArgument (the trust's file).
  core::Result<HttpResponse> send(const HttpRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace commensal::client
