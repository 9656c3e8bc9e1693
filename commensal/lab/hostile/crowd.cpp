// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <commensal/lab/hostile/crowd.hpp>
#include <thread>

namespace commensal::lab::hostile {
namespace {

constexpr int kConnectMs = 200;
constexpr auto kListen = std::chrono::milliseconds(500);

/// How many answers over HTTP begin here; what is none of these is one thing that was said.
std::uint64_t answers_in(std::string_view bytes) {
  constexpr std::string_view kBegin = "HTTP/1.1 ";
  std::uint64_t count = 0;
  for (auto at = bytes.find(kBegin); at != bytes.npos; at = bytes.find(kBegin, at + 1)) ++count;
  return std::max<std::uint64_t>(count, 1);
}

}  // namespace

Crowd::~Crowd() { go(); }

bool Crowd::join() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (made < 0) return false;
  if (origin_.receive_bytes > 0) {
    ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &origin_.receive_bytes, sizeof(int));
  }
  const int yes = 1;  // the port is chosen when it connects
  ::setsockopt(made, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl((127U << 24) | (std::uint32_t{origin_.net} << 16) |
                                  (1 + joined_++ % origin_.addresses));
  ::bind(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  pollfd wait{made, POLLOUT, 0};
  ::poll(&wait, 1, kConnectMs);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) {
    ::close(made);
    return false;
  }
  members_.push_back({made, false});
  return true;
}

std::optional<std::size_t> Crowd::offer(std::size_t member, std::string_view bytes) {
  std::size_t taken = 0;
  while (taken < bytes.size()) {
    const auto sent =
        ::send(members_[member].socket, bytes.data() + taken, bytes.size() - taken, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return std::nullopt;
    if (sent < 0) break;
    members_[member].has_begun = true;
    taken += static_cast<std::size_t>(sent);
  }
  return taken;
}

bool Crowd::say(std::size_t member, std::string_view bytes) {
  return offer(member, bytes).has_value();
}

bool Crowd::is_closed(std::size_t member) const {
  pollfd look{members_[member].socket, POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0;
}

bool Crowd::hear(std::size_t member) {
  std::array<char, 16'384> piece;
  while (true) {
    const auto size = ::recv(members_[member].socket, piece.data(), piece.size(), 0);
    if (size > 0) {
      effects_ += answers_in({piece.data(), static_cast<std::size_t>(size)});
      continue;
    }
    return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
}

std::optional<std::string> Crowd::read(std::size_t member) {
  std::string come;
  std::array<char, 16'384> piece;
  while (true) {
    const auto size = ::recv(members_[member].socket, piece.data(), piece.size(), 0);
    if (size > 0) {
      come.append(piece.data(), static_cast<std::size_t>(size));
      continue;
    }
    const bool is_open = size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (!is_open && come.empty()) return std::nullopt;
    return come;
  }
}

void Crowd::leave(std::size_t member) {
  if (members_[member].has_begun) ++effects_;
  ::close(members_[member].socket);
  members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(member));
}

void Crowd::leave_closed() {
  for (std::size_t i = members_.size(); i > 0; --i) {
    if (!hear(i - 1)) leave(i - 1);
  }
}

void Crowd::leave_unheard() {
  for (std::size_t i = members_.size(); i > 0; --i) {
    if (is_closed(i - 1)) leave(i - 1);
  }
}

void Crowd::hang_up() {
  for (const Member& member : members_) ::shutdown(member.socket, SHUT_WR);
  listen();
}

void Crowd::go() {
  for (const Member& member : members_) ::close(member.socket);
  members_.clear();
}

void Crowd::listen() {
  std::this_thread::sleep_for(kListen);
  leave_closed();
}

std::string infer_head(std::string_view model, std::string_view token, std::string_view more) {
  return fmt::format(
      "POST /v2/models/{}/infer HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n{}\r\n", model,
      token, more);
}

}  // namespace commensal::lab::hostile
