// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/collocation/guest/lines.hpp>
#include <cstring>

namespace commensal::guest {
namespace {

using core::ErrorCode;
using core::fail;

constexpr int kWaitingMax = 64;

core::Result<sockaddr_un> address_of(const core::Path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    return fail(ErrorCode::kInvalidArgument, "{} is too long for a socket: at most {} bytes", text,
                sizeof address.sun_path - 1);
  }
  std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
  return address;
}

Descriptor make_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

core::Result<Lines> Lines::connect(const core::Path& path, std::size_t bytes_max) {
  COMMENSAL_ASSIGN(const sockaddr_un address, address_of(path));
  Descriptor socket = make_socket();
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const bool is_nobody = errno == ENOENT || errno == ECONNREFUSED;
    return fail(is_nobody ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                "nobody listens at {}: {}", path.string(), std::strerror(errno));
  }
  return Lines(std::move(socket), bytes_max);
}

void Lines::send(std::string_view line) {
  if (!is_open_) return;
  const std::string text = std::string(line) + "\n";
  const ssize_t sent = ::send(fd(), text.data(), text.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) is_open_ = false;
}

void Lines::receive() {
  char buffer[4096];
  while (is_open_) {
    const ssize_t got = ::recv(fd(), buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) held_.append(buffer, static_cast<std::size_t>(got));
    if (got <= 0 || held_.size() > 2 * bytes_max_) is_open_ = false;
  }
}

std::optional<std::string> Lines::next() {
  const std::size_t end = held_.find('\n');
  if (std::min(end, held_.size()) > bytes_max_) is_open_ = false;
  if (end == std::string::npos || end > bytes_max_) return std::nullopt;
  std::string line = held_.substr(0, end);
  held_.erase(0, end + 1);
  return line;
}

core::Result<Descriptor> listen_at(const core::Path& path) {
  COMMENSAL_ASSIGN(const sockaddr_un address, address_of(path));
  (void)::unlink(path.c_str());
  Descriptor socket = make_socket();
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), kWaitingMax) != 0) {
    return fail(ErrorCode::kUnavailable, "cannot listen at {}: {}", path.string(),
                std::strerror(errno));
  }
  return socket;
}

std::optional<Descriptor> accept_from(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.get() < 0) return std::nullopt;
  return socket;
}

void wait_for(int fd, int wait_ms) {
  pollfd one{fd, POLLIN, 0};
  (void)::poll(&one, 1, wait_ms);
}

}  // namespace commensal::guest
