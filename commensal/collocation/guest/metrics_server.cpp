// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/collocation/guest/guest_client.hpp>
#include <commensal/collocation/guest/lines.hpp>
#include <commensal/collocation/guest/metrics.hpp>
#include <thread>

namespace commensal::guest {
namespace {

namespace http = boost::beast::http;
using core::ErrorCode;
using core::fail;
using core::Result;

constexpr std::int64_t kWaitNs = 2'000'000'000;
constexpr int kListenMs = 100;  // how soon it ends

std::string answer(int status, const char* reason, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
      "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, reason, body.size(), body);
}

}  // namespace

struct MetricsServer::State {
  const core::Clock& clock;
  std::function<Result<std::string>()> text;
  Descriptor listener;
  std::uint16_t port = 0;
  std::jthread thread{};  // last

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      wait_for(listener.get(), kListenMs);
      if (const auto socket = accept_from(listener)) serve(*socket);
    }
  }

  /// Whether the socket was ready in time.
  bool wait(const Descriptor& socket, short events, std::int64_t end_ns) const {
    const std::int64_t left_ms = (end_ns - clock.monotonic_ns()) / 1'000'000;
    pollfd one{socket.get(), events, 0};
    return left_ms > 0 && ::poll(&one, 1, static_cast<int>(left_ms)) == 1;
  }

  void serve(const Descriptor& socket) const {
    const std::int64_t end_ns = clock.monotonic_ns() + kWaitNs;
    http::request_parser<http::empty_body> parser;
    parser.header_limit(limits::kMetricsHeadBytesMax);
    std::string held;
    boost::system::error_code error = http::error::need_more;
    while (error == http::error::need_more && held.size() <= limits::kMetricsHeadBytesMax) {
      if (!wait(socket, POLLIN, end_ns)) return;
      char buffer[4096];
      const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, 0);
      if (got <= 0) return;
      held.append(buffer, static_cast<std::size_t>(got));
      held.erase(0, parser.put(boost::asio::buffer(held), error));
    }
    send(socket, end_ns, error ? answer(400, "Bad Request", "") : respond(parser.get()));
  }

  std::string respond(const http::request<http::empty_body>& request) const {
    if (request.target() != "/metrics") return answer(404, "Not Found", "/metrics is here\n");
    if (request.method() != http::verb::get) return answer(405, "Method Not Allowed", "");
    const auto made = text();
    if (made) return answer(200, "OK", *made);
    return answer(503, "Service Unavailable", made.error().message + "\n");
  }

  void send(const Descriptor& socket, std::int64_t end_ns, std::string_view bytes) const {
    while (!bytes.empty() && wait(socket, POLLOUT, end_ns)) {
      const ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    (void)::shutdown(socket.get(), SHUT_WR);
  }
};

MetricsServer::MetricsServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
MetricsServer::~MetricsServer() = default;
std::uint16_t MetricsServer::port() const { return state_->port; }

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(
    const std::string& where, const core::Clock& clock, std::function<Result<std::string>()> text) {
  const auto at = core::Endpoint::parse(where);
  if (!at) {
    return fail(ErrorCode::kInvalidArgument,
                "'{}' is no place to listen on: ADDRESS:PORT is expected", where);
  }
  auto listener = core::listen_on(*at);
  if (!listener) {
    return fail(ErrorCode::kUnavailable, "cannot listen on {}: {}", where,
                listener.error().message);
  }
  std::unique_ptr<State> state(
      new State{clock, std::move(text), std::move(listener->socket), listener->port});
  state->thread =
      std::jthread([made = state.get()](const std::stop_token& stop) { made->run(stop); });
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(state)));
}

Result<std::unique_ptr<MetricsServer>> serve_governor(const std::string& where,
                                                      const core::Path& folder,
                                                      const core::Clock& clock) {
  return MetricsServer::start(where, clock, [folder, &clock]() -> Result<std::string> {
    COMMENSAL_ASSIGN(const std::string line, ask_status(folder, clock));
    return metrics_of(line);
  });
}

}  // namespace commensal::guest
