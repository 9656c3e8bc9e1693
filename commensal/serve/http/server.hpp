// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/serve/gateway/gateway.hpp>
#include <commensal/serve/http/page.hpp>
#include <commensal/serve/oip/services.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace commensal::http {

/// A listener that serves figures of operators (GET /metrics) to whoever reaches it, and nothing
/// else.
struct MetricsPort {
  std::string address;
  std::uint16_t port = 0;                              // 0: any that is free
  std::shared_ptr<const tls::Identity> identity = {};  // null: no TLS
};

struct HttpOptions {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                              // 0: any that is free
  std::shared_ptr<const tls::Identity> identity = {};  // TLS 1.3; null: none
  const core::Listener* listening = nullptr;  // at this address already; null: it opens its own
  std::optional<MetricsPort> metrics = {};
  oip::Options serving = {};
  std::shared_ptr<const Page> page = {};  // what browsers are shown; null: nothing
  int threads = 2;                        // that read and write, parse and encode bodies
};

/// Serves the gateway over HTTP/1.1 (RFC 9112) with keep-alive, on threads of its own; every call
/// into the gateway is posted on its loop. Bounds and waits are those of limits.hpp (kHttp...,
/// kConnectionsMax); who makes room beyond them: places.hpp.
/// The gateway, its loop, clock and rng, which any thread may use, outlive the loop's last run and
/// this object.
/// Thread-safety: one owner; port() any thread.
class HttpServer {
 public:
  /// Errors: kInvalidArgument (address), kUnavailable (the address is taken, say).
  static core::Result<std::unique_ptr<HttpServer>> start(gateway::Gateway& gateway,
                                                         core::Loop& loop, const core::Clock& clock,
                                                         core::Rng& rng,
                                                         const HttpOptions& options);
  /// stop(0).
  ~HttpServer();

  std::uint16_t port() const;
  std::uint16_t metrics_port() const;  // 0: there is none
  /// For who serves the same consumers in another protocol, and ends before this server does.
  const oip::Services& services() const;
  /// Takes no new requests and lets those under way finish for `grace_ms`: what is answered closes
  /// its connection. What is left goes on. Not on the loop's own thread.
  void drain(std::int64_t grace_ms);
  /// The same, and closes what is left. On the loop's own thread only with 0: what is under way
  /// needs the loop.
  void stop(std::int64_t grace_ms = 5'000);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace commensal::http
