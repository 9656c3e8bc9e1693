// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/vector_body.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/serve/client/transport.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <commensal/serve/tls/either_stream.hpp>

namespace commensal::client {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace beast_http = boost::beast::http;
using asio::ip::tcp;
using core::ErrorCode;
using Error = beast::error_code;

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";
constexpr std::string_view kConsumersPort = "consumers use another (8080 by default)";

std::string head_of(const HttpRequest& request, const Url& url, std::size_t body_bytes) {
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  std::string head =
      fmt::format("{} {} HTTP/1.1\r\nHost: {}{}{}:{}\r\nUser-Agent: commensal\r\n", request.method,
                  request.target, is_ipv6 ? "[" : "", url.host, is_ipv6 ? "]" : "", url.port);
  if (!request.token.empty()) head += fmt::format("Authorization: Bearer {}\r\n", request.token);
  if (!request.content_type.empty())
    head += fmt::format("Content-Type: {}\r\n", request.content_type);
  if (request.json_bytes)
    head += fmt::format("Inference-Header-Content-Length: {}\r\n", *request.json_bytes);
  for (const auto& [name, value] : request.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + fmt::format("Content-Length: {}\r\n\r\n", body_bytes);
}

}  // namespace

core::Result<Url> Url::parse(std::string_view text) {
  const auto refuse = [&] {
    return core::fail(ErrorCode::kInvalidArgument,
                      "'{}' is no URL of a gateway: expected https://HOST:PORT or http://HOST:PORT",
                      text);
  };
  const bool is_plain = text.starts_with(kPlain);
  const bool is_secure = text.starts_with(kSecure);
  const bool has_scheme = is_plain || is_secure;
  if (!has_scheme && text.find("://") != std::string_view::npos) return refuse();
  std::string_view rest = text.substr(is_plain ? kPlain.size() : is_secure ? kSecure.size() : 0);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  Url url{.host = "", .port = is_secure ? "443" : "80", .is_secure = is_secure};
  std::size_t host_end = rest.find(':');
  if (rest.starts_with('[')) {
    const std::size_t bracket = rest.find(']');
    if (bracket == std::string_view::npos) return refuse();
    url.host = rest.substr(1, bracket - 1);
    host_end = bracket + 1;
    if (host_end < rest.size() && rest[host_end] != ':') return refuse();
  } else {
    url.host = rest.substr(0, host_end);
  }
  if (!has_scheme && host_end >= rest.size()) return refuse();
  if (host_end < rest.size()) url.port = rest.substr(host_end + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool is_number = !url.port.empty() && url.port.size() <= 5 &&
                         std::all_of(url.port.begin(), url.port.end(), is_digit);
  const bool port_fits = is_number && std::stoi(url.port) >= 1 && std::stoi(url.port) <= 65'535;
  if (url.host.empty() || url.host.find_first_of("/?#@ \r\n") != std::string::npos || !port_fits)
    return refuse();
  url.is_secure = is_secure || (!has_scheme && !tls::is_loopback(url.host));
  return url;
}

struct Transport::State {
  using Socket = beast::tcp_stream;

  Url url;
  std::chrono::milliseconds wait;
  tls::Trust trust;
  std::string from;
  std::string whom;
  asio::io_context io{1};
  std::optional<asio::ssl::context> context;  // made when it is needed
  std::optional<tls::EitherStream<Socket, asio::ssl::stream<Socket&>>> stream;
  beast::flat_buffer buffer{limits::kHttpHeaderBytesMax};
  bool has_answered = false;  // on this connection

  State(Url to, std::int64_t wait_ms, tls::Trust trusted, std::string own, std::string called)
      : url(std::move(to)),
        wait(wait_ms),
        trust(std::move(trusted)),
        from(std::move(own)),
        whom(std::move(called)) {}

  /// Runs one operation, started by start(handler), to its end.
  template <class Start>
  Error step(Start start) {
    Error result;
    stream->socket().expires_after(wait);
    start([&result](Error error, auto&&...) { result = error; });
    io.restart();
    io.run();
    return result;
  }

  core::Error explain(std::string_view what, Error error) const {
    const bool late = error == beast::error::timeout;
    return {late ? ErrorCode::kDeadlineExceeded : ErrorCode::kUnavailable,
            fmt::format("{} {} at {}:{}: {}", what, whom, url.host, url.port,
                        late ? "no answer in time" : error.message())};
  }

  /// Nothing came back on this connection: so it is where https was forgotten, and with TLS at the
  /// port for providers, which hangs up on who does not speak HTTP/2.
  core::Error lost(Error error, bool is_silent) const {
    core::Error said = explain("lost", error);
    if (!is_silent || has_answered || error == beast::error::timeout) return said;
    said.message += url.is_secure
                        ? fmt::format("; if it is its port for providers: {}", kConsumersPort)
                        : fmt::format("; if it speaks TLS: https://{}:{}", url.host, url.port);
    return said;
  }
  bool is_of_providers() const;
  tl::unexpected<core::Error> explain_read(Error error, Error write_error, bool is_silent) const;

  core::Result<void> connect();
  Error reach(const tcp::resolver::results_type& endpoints);
  core::Result<void> secure();
  void drop_if_stale();
  Error write(const HttpRequest& request);
  core::Result<HttpResponse> read(Error write_error, const Progress& received);
};

core::Result<void> Transport::State::connect() {
  drop_if_stale();
  if (stream) return {};
  Error error;
  const auto endpoints = tcp::resolver(io).resolve(url.host, url.port, error);
  if (error == asio::error::host_not_found) {
    return core::fail(ErrorCode::kNotFound, "no host '{}' is known: expected http://HOST:PORT",
                      url.host);
  }
  if (error) return tl::unexpected(explain("cannot find", error));
  stream.emplace(io);
  buffer.clear();
  has_answered = false;
  error = reach(endpoints);
  if (error) {
    stream.reset();
    return tl::unexpected(explain("cannot reach", error));
  }
  stream->socket().socket().set_option(tcp::no_delay(true), error);
  if (!url.is_secure) return {};
  auto secured = secure();
  if (!secured) stream.reset();
  return secured;
}

Error Transport::State::reach(const tcp::resolver::results_type& endpoints) {
  auto& socket = stream->socket();
  if (from.empty()) {
    return step([&](auto done) { socket.async_connect(endpoints, done); });
  }
  Error error;
  const auto own = asio::ip::make_address(from, error);
  const tcp::endpoint to = *endpoints.begin();
  if (!error) socket.socket().open(to.protocol(), error);
  if (!error) socket.socket().bind({own, 0}, error);
  return error ? error : step([&](auto done) { socket.async_connect(to, done); });
}

core::Result<void> Transport::State::secure() {
  if (!context) {
    COMMENSAL_ASSIGN(ssl_ctx_st* const made, tls::new_client_context(trust));
    context.emplace(made);
  }
  auto& secured = stream->secure(*context);
  ssl_st* const connection = secured.native_handle();
  tls::expect_host(connection, trust, url.host);
  const Error error =
      step([&](auto done) { secured.async_handshake(asio::ssl::stream_base::client, done); });
  const auto distrust = [this](std::string_view why) {
    return core::fail(ErrorCode::kUnauthenticated, "cannot trust {} at {}:{}: {}", whom, url.host,
                      url.port, why);
  };
  if (const std::string why = tls::why_distrusted(connection); error && !why.empty()) {
    if (trust.ca_file.empty())
      return distrust(why + ": expected its public key (--pin) or its authority's file (--ca)");
    return distrust(
        fmt::format("--ca '{}' does not vouch for it: {}", trust.ca_file.string(), why));
  }
  if (error && error != beast::error::timeout) {
    return core::fail(ErrorCode::kUnavailable,
                      "no TLS with the gateway at {0}:{1} ({2}): is it http://{0}:{1}, or the port "
                      "for providers?",
                      url.host, url.port, error.message());
  }
  if (error) return tl::unexpected(explain("no TLS with", error));
  if (const auto pinned = tls::check_pins(connection, trust); !pinned) {
    return distrust(pinned.error().message);
  }
  return {};
}

// Between requests a server sends nothing: what can be read is its farewell.
void Transport::State::drop_if_stale() {
  if (!stream) return;
  Error error;
  tcp::socket& socket = stream->socket().socket();
  socket.non_blocking(true, error);
  std::array<char, 1> byte{};
  socket.receive(asio::buffer(byte), tcp::socket::message_peek, error);
  if (error != asio::error::would_block) stream.reset();
}

Error Transport::State::write(const HttpRequest& request) {
  std::size_t total = 0;
  for (const core::ByteView part : request.parts) total += part.size();
  const std::string head = head_of(request, url, total);
  std::size_t done = 0;
  const auto write_all = [&](core::ByteView bytes, bool is_body) -> Error {
    while (!bytes.empty()) {
      const core::ByteView piece = bytes.first(std::min(bytes.size(), limits::kHttpPieceBytes));
      const Error error = step([&](auto handler) {
        asio::async_write(*stream, asio::buffer(piece.data(), piece.size()), handler);
      });
      if (error) return error;
      bytes = bytes.subspan(piece.size());
      if (is_body) done += piece.size();
      if (is_body && request.progress) request.progress(done, total);
    }
    return {};
  };
  Error error = write_all(core::as_bytes(head), false);
  for (const core::ByteView part : request.parts)
    if (!error) error = write_all(part, true);
  return error;
}

/// What has come begins with the first frame of HTTP/2: SETTINGS, without flags, of no stream.
bool Transport::State::is_of_providers() const {
  constexpr std::array<std::uint8_t, 6> kSettings = {0x04, 0, 0, 0, 0, 0};
  constexpr std::size_t kAt = 3;  // behind the frame's length
  const auto came = buffer.data();
  const auto* const bytes = static_cast<const std::uint8_t*>(came.data());
  return came.size() >= kAt + kSettings.size() &&
         std::equal(kSettings.begin(), kSettings.end(), bytes + kAt);
}

tl::unexpected<core::Error> Transport::State::explain_read(Error error, Error write_error,
                                                           bool is_silent) const {
  if (is_of_providers())
    return core::fail(ErrorCode::kDataLoss,
                      "{}:{} is the gateway's port for providers or gRPC, it seems: {}", url.host,
                      url.port, kConsumersPort);
  // A gateway that refuses early stops reading: why, it says in its answer, if that arrived.
  if (write_error) return tl::unexpected(lost(write_error, is_silent));
  if (error.category() == make_error_code(beast_http::error::bad_method).category() &&
      error != beast_http::error::end_of_stream && error != beast_http::error::partial_message)
    return core::fail(ErrorCode::kDataLoss, "{}:{} does not speak HTTP as a gateway does: {}",
                      url.host, url.port, error.message());
  return tl::unexpected(lost(error, is_silent));
}

core::Result<HttpResponse> Transport::State::read(Error write_error, const Progress& received) {
  beast_http::response_parser<beast_http::vector_body<std::uint8_t>> parser;
  parser.header_limit(limits::kHttpHeaderBytesMax);
  parser.body_limit(static_cast<std::uint64_t>(limits::kHttpBodyBytesMax));
  Error error =
      step([&](auto done) { beast_http::async_read_header(*stream, buffer, parser, done); });
  // Before the head is there, nothing is known of the body.
  const auto total = static_cast<std::size_t>(error ? 0 : parser.content_length().value_or(0));
  while (!error && !parser.is_done()) {
    error = step([&](auto done) { beast_http::async_read_some(*stream, buffer, parser, done); });
    const std::size_t missing =
        static_cast<std::size_t>(parser.content_length_remaining().value_or(0));
    if (received && total > 0) received(total - std::min(missing, total), total);
  }
  if (error) {
    stream.reset();
    return explain_read(error, write_error, !parser.got_some());
  }
  has_answered = true;
  HttpResponse response;
  auto& message = parser.get();
  response.status = static_cast<int>(message.result_int());
  const auto json_bytes = message.find("Inference-Header-Content-Length");
  if (json_bytes != message.end())
    response.json_bytes = std::string(json_bytes->value().data(), json_bytes->value().size());
  response.body = std::move(message.body());
  if (write_error || !parser.keep_alive()) stream.reset();
  return response;
}

Transport::Transport(Url url, std::int64_t wait_ms, tls::Trust trust, std::string from,
                     std::string whom)
    : state_(std::make_unique<State>(std::move(url), wait_ms, std::move(trust), std::move(from),
                                     std::move(whom))) {}
Transport::Transport(Transport&&) noexcept = default;
Transport& Transport::operator=(Transport&&) noexcept = default;
Transport::~Transport() = default;

core::Result<void> Transport::connect() { return state_->connect(); }

bool Transport::is_connected() {
  state_->drop_if_stale();
  return state_->stream.has_value();
}

core::Result<HttpResponse> Transport::send(const HttpRequest& request) {
  COMMENSAL_TRY(state_->connect());
  const Error error = state_->write(request);
  return state_->read(error, request.received);
}

}  // namespace commensal::client
