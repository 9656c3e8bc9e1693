// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/lab/hostile/crowd.hpp>

namespace commensal::lab::hostile {
namespace {

constexpr int kConnectMs = 200;

}  // namespace

Crowd::~Crowd() {
  for (const int socket : sockets_) ::close(socket);
}

bool Crowd::join() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  pollfd wait{made, POLLOUT, 0};
  ::poll(&wait, 1, kConnectMs);
  sockets_.push_back(made);
  return true;
}

bool Crowd::say(std::size_t member, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(sockets_[member], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Crowd::hear(std::size_t member) {
  std::array<char, 16'384> piece;
  while (true) {
    const auto size = ::recv(sockets_[member], piece.data(), piece.size(), 0);
    if (size > 0) continue;
    return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

void Crowd::leave(std::size_t member) {
  ::close(sockets_[member]);
  sockets_.erase(sockets_.begin() + static_cast<std::ptrdiff_t>(member));
}

void Crowd::leave_closed() {
  for (std::size_t i = sockets_.size(); i > 0; --i) {
    if (!hear(i - 1)) leave(i - 1);
  }
}

std::string infer_head(std::string_view model, std::string_view token, std::string_view more) {
  return fmt::format(
      "POST /v2/models/{}/infer HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}\r\n", model,
      token, more);
}

}  // namespace commensal::lab::hostile
