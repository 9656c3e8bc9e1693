// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <hosts/common/clock.hpp>
#include <hosts/common/http_server.hpp>
#include <vector>

namespace hosts::common {
namespace {

struct Connection {
  int socket;
  std::int64_t since_ns;
  std::string in{};
  std::string out{};
  std::size_t sent = 0;
};

std::string_view reason_of(int status) {
  return status == 200 ? "OK" : status == 404 ? "Not Found" : "Bad Request";
}

std::string text_of(const HttpAnswer& answer) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " ";
  text.append(reason_of(answer.status));
  text += "\r\nContent-Type: " + answer.content_type;
  text += "\r\nContent-Length: " + std::to_string(answer.body.size());
  return text + "\r\nConnection: close\r\n\r\n" + answer.body;
}

std::string answer_to(std::string_view head, const HttpServer::Handler& handler) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t end = line.rfind(" HTTP/1.");
  if (!line.starts_with("GET /") || end == std::string_view::npos || end < 4)
    return text_of({400, "text/plain", "expected GET /... HTTP/1.1\n"});
  return text_of(handler(line.substr(4, end - 4)));
}

/// Reads and writes as much as there is; true: the connection is done.
bool serve(Connection& c, const HttpServer::Handler& handler) {
  char buffer[2048];
  while (c.out.empty()) {
    const ssize_t got = recv(c.socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) return true;
    c.in.append(buffer, static_cast<std::size_t>(got));
    if (c.in.find("\r\n\r\n") != std::string::npos) {
      c.out = answer_to(c.in, handler);
    } else if (c.in.size() > HttpServer::kHeadBytesMax) {
      c.out = text_of({400, "text/plain", "the request is too long\n"});
    }
  }
  while (c.sent < c.out.size()) {
    const ssize_t put =
        send(c.socket, c.out.data() + c.sent, c.out.size() - c.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (put <= 0) return true;
    c.sent += static_cast<std::size_t>(put);
  }
  (void)shutdown(c.socket, SHUT_WR);
  return true;
}

tl::expected<sockaddr_in, std::string> address_of(const std::string& text) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const std::size_t colon = text.rfind(':');
  unsigned port = 0;
  const char* const begin = text.data() + (colon == std::string::npos ? 0 : colon + 1);
  const auto read = std::from_chars(begin, text.data() + text.size(), port);
  if (colon == std::string::npos || read.ec != std::errc() ||
      read.ptr != text.data() + text.size() || port > 65535 ||
      inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) != 1) {
    return tl::unexpected("expected an address such as 127.0.0.1:8000, got '" + text + "'");
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

tl::expected<std::unique_ptr<HttpServer>, std::string> HttpServer::open(const std::string& text,
                                                                        Handler handler) {
  auto address = address_of(text);
  if (!address) return tl::unexpected(address.error());
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto* const generic = reinterpret_cast<sockaddr*>(&*address);
  socklen_t size = sizeof *address;
  if (bind(listener, generic, size) != 0 || listen(listener, 64) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    const std::string why = std::strerror(errno);
    (void)close(listener);
    return tl::unexpected("cannot listen at " + text + ": " + why);
  }
  return std::unique_ptr<HttpServer>(new HttpServer(listener, eventfd(0, EFD_CLOEXEC),
                                                    ntohs(address->sin_port), std::move(handler)));
}

HttpServer::HttpServer(int listener, int wake, std::uint16_t port, Handler handler)
    : listener_(listener), wake_(wake), port_(port), handler_(std::move(handler)) {
  thread_ = std::thread([this] { run(); });
}

HttpServer::~HttpServer() {
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof one);
  thread_.join();
  (void)close(listener_);
  (void)close(wake_);
}

void HttpServer::run() {
  std::vector<Connection> open;
  while (true) {
    std::vector<pollfd> waiting = {{wake_, POLLIN, 0}};
    // Who comes when all places are taken waits in the kernel's queue.
    waiting.push_back({open.size() < kConnectionsMax ? listener_ : -1, POLLIN, 0});
    for (const Connection& c : open)
      waiting.push_back({c.socket, static_cast<short>(c.out.empty() ? POLLIN : POLLOUT), 0});
    (void)poll(waiting.data(), waiting.size(), open.empty() ? -1 : kWaitMs / 4);
    if (waiting[0].revents != 0) break;
    const std::int64_t now = now_ns();
    std::erase_if(open, [&](Connection& c) {
      const bool done = serve(c, handler_) ||
                        seconds_between(c.since_ns, now) * 1000 > static_cast<double>(kWaitMs);
      if (done) (void)close(c.socket);
      return done;
    });
    if (waiting[1].revents != 0) {
      const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) open.push_back({socket, now});
    }
  }
  for (const Connection& c : open) (void)close(c.socket);
}

}  // namespace hosts::common
