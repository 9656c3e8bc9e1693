// SPDX-License-Identifier: Apache-2.0
#include <tests/http/raw_client.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace commensal::tests {

RawClient::RawClient(std::uint16_t port, std::uint8_t from)
    : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval wait{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
  sockaddr_in own = address;
  own.sin_port = 0;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK | (std::uint32_t{from} << 8));
  if (from > 0) ::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own);
  ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

RawClient::~RawClient() { ::close(socket_); }

bool RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawClient::half_close() { ::shutdown(socket_, SHUT_WR); }

bool RawClient::fill() {
  char piece[65536];
  const ssize_t size = ::recv(socket_, piece, sizeof piece, 0);
  if (size <= 0) return false;
  buffer_.append(piece, static_cast<std::size_t>(size));
  return true;
}

RawResponse RawClient::receive(bool without_body) {
  RawResponse response;
  std::size_t end;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return response;
  const std::string head = buffer_.substr(0, end + 2);
  buffer_.erase(0, end + 4);
  response.status = std::stoi(head.substr(head.find(' ') + 1, 3));
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const std::size_t line_end = head.find("\r\n", at);
    const std::size_t colon = head.find(": ", at);
    std::string name = head.substr(at, colon - at);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers[name] = head.substr(colon + 2, line_end - colon - 2);
    at = line_end + 2;
  }
  if (without_body || !response.headers.contains("content-length")) return response;
  const std::size_t size = std::stoul(response.headers["content-length"]);
  while (buffer_.size() < size)
    if (!fill()) return {};
  response.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return response;
}

core::Descriptor dial(std::uint16_t port, std::uint8_t from) {
  core::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK | (std::uint32_t{from} << 8));
  if (from > 0) ::bind(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at);
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return {};
  return socket;
}

bool ends(const core::Descriptor& socket, std::string_view said) {
  ::send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL);
  std::array<char, 4096> heard{};
  pollfd one{socket.get(), POLLIN, 0};
  while (::poll(&one, 1, 10'000) == 1)
    if (::recv(socket.get(), heard.data(), heard.size(), 0) <= 0) return true;
  return false;
}

bool RawClient::is_closed() {
  char byte;
  return buffer_.empty() && ::recv(socket_, &byte, 1, 0) == 0;
}

}  // namespace commensal::tests
