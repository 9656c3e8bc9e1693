// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <commensal/base/core/limits_host.hpp>
#include <commensal/base/core/limits_probes.hpp>
#include <commensal/collocation/probe/exchange.hpp>
#include <cstring>

namespace commensal::probe {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;
namespace http = boost::beast::http;

/// A socket with a deadline for all that is done with it.
class Socket {
 public:
  Socket(const core::Clock& clock, std::int64_t wait_ms)
      : clock_(clock), ends_ns_(clock.monotonic_ns() + wait_ms * 1'000'000), wait_ms_(wait_ms) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() {
    if (fd_ >= 0) (void)close(fd_);
  }

  Result<void> connect(const Endpoint& to) {
    sockaddr_storage address{};
    socklen_t size = 0;
    auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
    auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
    if (inet_pton(AF_INET, to.host.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(to.port);
      size = sizeof *v4;
    } else if (inet_pton(AF_INET6, to.host.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(to.port);
      size = sizeof *v6;
    } else {
      return fail(ErrorCode::kUnavailable, "'{}' is no address", to.host);
    }
    fd_ = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = 0;
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0) {
      error = errno;
      if (error == EINPROGRESS) {
        COMMENSAL_TRY(wait(POLLOUT));
        socklen_t length = sizeof error;
        if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
      }
    }
    if (error != 0)
      return fail(ErrorCode::kUnavailable, "no connection to port {}: {}", to.port,
                  std::strerror(error));
    return {};
  }

  Result<void> send(std::string_view bytes) {
    while (!bytes.empty()) {
      COMMENSAL_TRY(wait(POLLOUT));
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return fail(ErrorCode::kUnavailable, "the connection is lost: {}", std::strerror(errno));
      if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  /// At least one byte, or "" at the end.
  Result<std::string_view> receive() {
    while (true) {
      COMMENSAL_TRY(wait(POLLIN));
      const ssize_t got = recv(fd_, buffer_, sizeof buffer_, 0);
      if (got >= 0) return std::string_view(buffer_, static_cast<std::size_t>(got));
      if (errno != EAGAIN && errno != EINTR)
        return fail(ErrorCode::kUnavailable, "the connection is lost: {}", std::strerror(errno));
    }
  }

 private:
  Result<void> wait(short events) {
    const std::int64_t left_ms = (ends_ns_ - clock_.monotonic_ns() + 999'999) / 1'000'000;
    pollfd one{fd_, events, 0};
    if (left_ms <= 0 || poll(&one, 1, static_cast<int>(left_ms)) == 0)
      return fail(ErrorCode::kDeadlineExceeded, "no whole answer within {} ms", wait_ms_);
    return {};
  }

  const core::Clock& clock_;
  std::int64_t ends_ns_;
  std::int64_t wait_ms_;
  int fd_ = -1;
  char buffer_[16384];
};

std::string request_of(const Endpoint& endpoint, std::string_view target) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  std::string text = fmt::format("GET {} HTTP/1.1\r\nHost: {}{}{}:{}\r\n", target, is_v6 ? "[" : "",
                                 endpoint.host, is_v6 ? "]" : "", endpoint.port);
  if (!endpoint.token.empty()) text += fmt::format("Authorization: Bearer {}\r\n", endpoint.token);
  return text + "Accept: */*\r\nConnection: close\r\n\r\n";
}

core::Error refusal_of(const boost::system::error_code& error) {
  if (error == http::error::body_limit || error == http::error::header_limit ||
      error == http::error::buffer_overflow) {
    return {ErrorCode::kResourceExhausted,
            fmt::format("the answer is longer than {} bytes", limits::kProbeBodyBytesMax)};
  }
  if (error == http::error::end_of_stream || error == http::error::partial_message)
    return {ErrorCode::kUnavailable, "the answer is cut off"};
  return {ErrorCode::kDataLoss, fmt::format("the answer is no HTTP: {}", error.message())};
}

}  // namespace

Result<std::string> http_get(const Endpoint& endpoint, std::string_view target,
                             const core::Clock& clock, std::int64_t wait_ms) {
  Socket socket(clock, wait_ms);
  COMMENSAL_TRY(socket.connect(endpoint));
  COMMENSAL_TRY(socket.send(request_of(endpoint, target)));
  http::response_parser<http::string_body> parser;
  parser.header_limit(limits::kProbeHeadBytesMax);
  parser.body_limit(limits::kProbeBodyBytesMax);
  parser.eager(true);
  std::string held;  // what the parser has not taken yet
  boost::system::error_code error;
  while (!parser.is_done()) {
    COMMENSAL_ASSIGN(const std::string_view got, socket.receive());
    if (got.empty()) {
      // Before the head is whole the parser would take the end for that of an empty answer.
      if (parser.is_header_done()) {
        parser.put_eof(error);
      } else {
        error = http::error::partial_message;
      }
      if (error) return tl::unexpected(refusal_of(error));
      break;
    }
    held.append(got);
    const std::size_t taken = parser.put(boost::asio::buffer(held), error);
    held.erase(0, taken);
    if (error && error != http::error::need_more) return tl::unexpected(refusal_of(error));
    if (held.size() > limits::kProbeHeadBytesMax)
      return fail(ErrorCode::kResourceExhausted, "the answer's head is too long");
  }
  if (parser.get().result_int() != 200)
    return fail(ErrorCode::kUnavailable, "status {}, expected 200", parser.get().result_int());
  return std::move(parser.get().body());
}

Result<std::string> tcp_ask(const Endpoint& endpoint, std::string_view line,
                            const core::Clock& clock, std::int64_t wait_ms) {
  Socket socket(clock, wait_ms);
  COMMENSAL_TRY(socket.connect(endpoint));
  COMMENSAL_TRY(socket.send(fmt::format("{}\n", line)));
  std::string answer;
  while (true) {
    COMMENSAL_ASSIGN(const std::string_view got, socket.receive());
    if (got.empty()) return fail(ErrorCode::kUnavailable, "the answer is cut off");
    const std::size_t end = got.find('\n');
    answer.append(got.substr(0, end));
    if (answer.size() > limits::kProbeBodyBytesMax)
      return fail(ErrorCode::kResourceExhausted, "the answer is longer than {} bytes",
                  limits::kProbeBodyBytesMax);
    if (end != std::string_view::npos) return answer;
  }
}

}  // namespace commensal::probe
