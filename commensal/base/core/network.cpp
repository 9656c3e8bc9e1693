// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <charconv>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/network.hpp>
#include <cstring>
#include <memory>
#include <span>

namespace commensal::core {
namespace {

constexpr std::string_view kLocalhost = "localhost", kLoopback = "127.0.0.1";

std::uint16_t port_of(const sockaddr_storage& at) {
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<const sockaddr_in&>(at).sin_port);
}

/// Of an IPv4 address mapped into IPv6 its own.
ByteView bytes_of(const sockaddr* address) {
  constexpr std::size_t kMappedAt = 12;
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return {reinterpret_cast<const std::uint8_t*>(&v4), sizeof v4};
  }
  if (address->sa_family != AF_INET6) return {};
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  const ByteView bytes(v6.s6_addr);
  return IN6_IS_ADDR_V4MAPPED(&v6) ? bytes.subspan(kMappedAt) : bytes;
}

}  // namespace

std::optional<Endpoint> Endpoint::parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const std::string_view digits = text.substr(colon + 1);
  Endpoint made{.host = std::string(host)};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), made.port);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (host.empty() || !is_number || host.find_first_of("[]/ ") != std::string_view::npos)
    return std::nullopt;
  return made;
}

std::string Endpoint::text() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

std::vector<std::string> endpoints_of(std::string_view list) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = list.find(',');
    parts.emplace_back(list.substr(0, end));
    if (end == std::string_view::npos) return parts;
    list.remove_prefix(end + 1);
  }
}

Result<Listener> listen_on(const Endpoint& where) {
  const auto refuse = [](const char* why) { return fail(ErrorCode::kUnavailable, "{}", why); };
  const std::string host(where.host == kLocalhost ? kLoopback : where.host);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(failed == 0 ? list : nullptr,
                                                             ::freeaddrinfo);
  if (failed != 0) return refuse(::gai_strerror(failed));
  Listener made;
  made.socket =
      Descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int fd = made.socket.get();
  constexpr int kOne = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &kOne, sizeof kOne);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOne, sizeof kOne);  // those accepted inherit it
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  if (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, SOMAXCONN) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    return refuse(errno == EADDRINUSE ? "the port is in use" : std::strerror(errno));
  }
  made.port = port_of(here);
  return made;
}

Result<Listener> share(const Listener& listener) {
  Listener made{Descriptor(::fcntl(listener.socket.get(), F_DUPFD_CLOEXEC, 0)), listener.port,
                listener.relays};
  if (made.socket.valid()) return made;
  return fail(ErrorCode::kUnavailable, "no files are left");
}

std::string network_of(const sockaddr* address) {
  constexpr std::size_t kSiteBytes = 6;
  const ByteView bytes = bytes_of(address);
  return to_hex(bytes.size() == sizeof(in6_addr) ? bytes.first(kSiteBytes) : bytes);
}

std::string connection_of(const sockaddr* address) {
  // Both families have it in the same place.
  const auto port = ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
  return fmt::format("{}:{}", to_hex(bytes_of(address)), port);
}

bool read_address(const std::string& host, const std::string& port, sockaddr_storage& address) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> found(list, ::freeaddrinfo);
  std::memcpy(&address, found->ai_addr, found->ai_addrlen);
  return true;
}

}  // namespace commensal::core
