// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/core/proxy_header.hpp>
#include <cstring>

namespace commensal::core {
namespace {

constexpr std::array<std::uint8_t, 12> kSignature = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D,
                                                     0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
constexpr std::uint8_t kProxy = 0x21, kTcp4 = 0x11, kTcp6 = 0x21, kSecret = 0xE0;
constexpr std::size_t kFixedBytes = 16, kFieldBytes = 3;  // before addresses; of a field

std::size_t number_at(ByteView bytes, std::size_t at) {
  return static_cast<std::size_t>(bytes[at]) << 8 | bytes[at + 1];
}

void put_number(Bytes& bytes, std::size_t number) {
  bytes.push_back(static_cast<std::uint8_t>(number >> 8));
  bytes.push_back(static_cast<std::uint8_t>(number));
}

void put(Bytes& bytes, const void* what, std::size_t size) {
  const auto* const first = static_cast<const std::uint8_t*>(what);
  bytes.insert(bytes.end(), first, first + size);
}

/// Address, address, port, port; nothing for other families.
Bytes addresses_of(const sockaddr* from, const sockaddr* to) {
  Bytes bytes;
  if (from->sa_family != to->sa_family) return bytes;
  if (from->sa_family == AF_INET) {
    const auto& a = reinterpret_cast<const sockaddr_in&>(*from);
    const auto& b = reinterpret_cast<const sockaddr_in&>(*to);
    put(bytes, &a.sin_addr, sizeof a.sin_addr), put(bytes, &b.sin_addr, sizeof b.sin_addr);
    put(bytes, &a.sin_port, sizeof a.sin_port), put(bytes, &b.sin_port, sizeof b.sin_port);
  } else if (from->sa_family == AF_INET6) {
    const auto& a = reinterpret_cast<const sockaddr_in6&>(*from);
    const auto& b = reinterpret_cast<const sockaddr_in6&>(*to);
    put(bytes, &a.sin6_addr, sizeof a.sin6_addr), put(bytes, &b.sin6_addr, sizeof b.sin6_addr);
    put(bytes, &a.sin6_port, sizeof a.sin6_port), put(bytes, &b.sin6_port, sizeof b.sin6_port);
  }
  return bytes;
}

/// In a time that says nothing of where they differ.
bool is_same(ByteView a, ByteView b) {
  if (a.size() != b.size()) return false;
  unsigned differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs |= a[i] ^ b[i];
  return differs == 0;
}

bool has_secret(ByteView fields, ByteView secret) {
  while (fields.size() >= kFieldBytes) {
    const std::size_t size = number_at(fields, 1);
    if (size > fields.size() - kFieldBytes) return false;
    if (fields[0] == kSecret) return is_same(fields.subspan(kFieldBytes, size), secret);
    fields = fields.subspan(kFieldBytes + size);
  }
  return false;
}

sockaddr_storage first_address(ByteView addresses) {
  sockaddr_storage made{};
  if (addresses.size() == 2 * (sizeof(in_addr) + 2)) {
    auto& at = reinterpret_cast<sockaddr_in&>(made);
    at.sin_family = AF_INET;
    std::memcpy(&at.sin_addr, addresses.data(), sizeof at.sin_addr);
    std::memcpy(&at.sin_port, addresses.data() + 2 * sizeof at.sin_addr, sizeof at.sin_port);
  } else {
    auto& at = reinterpret_cast<sockaddr_in6&>(made);
    at.sin6_family = AF_INET6;
    std::memcpy(&at.sin6_addr, addresses.data(), sizeof at.sin6_addr);
    std::memcpy(&at.sin6_port, addresses.data() + 2 * sizeof at.sin6_addr, sizeof at.sin6_port);
  }
  return made;
}

}  // namespace

Bytes proxy_header(const sockaddr* from, const sockaddr* to, std::string_view secret) {
  const Bytes addresses = addresses_of(from, to);
  const std::size_t more = addresses.size() + kFieldBytes + secret.size();
  if (addresses.empty() || kFixedBytes + more > limits::kProxyHeaderBytesMax) return {};
  Bytes made(kSignature.begin(), kSignature.end());
  made.push_back(kProxy);
  made.push_back(from->sa_family == AF_INET ? kTcp4 : kTcp6);
  put_number(made, more);
  put(made, addresses.data(), addresses.size());
  made.push_back(kSecret);
  put_number(made, secret.size());
  put(made, secret.data(), secret.size());
  return made;
}

ProxyHeader read_proxy_header(ByteView front, std::string_view secret) {
  ProxyHeader read;
  const std::size_t known = std::min(front.size(), kSignature.size());
  if (!std::equal(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(known),
                  kSignature.begin())) {
    return read;
  }
  read.state = ProxyHeader::State::kPartial;
  if (front.size() < kFixedBytes) return read;
  const std::uint8_t family = front[13];
  const std::size_t addresses = family == kTcp4   ? 2 * (sizeof(in_addr) + 2)
                                : family == kTcp6 ? 2 * (sizeof(in6_addr) + 2)
                                                  : 0;
  const std::size_t more = number_at(front, 14);
  read.bytes = kFixedBytes + more;
  if (front[12] != kProxy || addresses == 0 || more < addresses ||
      read.bytes > limits::kProxyHeaderBytesMax) {
    read.state = ProxyHeader::State::kWrong;
    return read;
  }
  if (front.size() < read.bytes) return read;
  const ByteView rest = front.subspan(kFixedBytes, more);
  const bool is_believed = has_secret(rest.subspan(addresses), as_bytes(secret));
  read.state = is_believed ? ProxyHeader::State::kWhole : ProxyHeader::State::kWrong;
  if (is_believed) read.from = first_address(rest.first(addresses));
  return read;
}

ProxyHeader take_proxy_header(int socket, std::string_view secret) {
  ProxyHeader read;
  if (secret.empty()) return read;
  std::array<std::uint8_t, limits::kProxyHeaderBytesMax> front{};
  const ssize_t came = ::recv(socket, front.data(), front.size(), MSG_PEEK | MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) {
    read.state = ProxyHeader::State::kPartial;
    return read;
  }
  if (came <= 0) return read;  // it has ended: whoever reads it sees that
  read = read_proxy_header({front.data(), static_cast<std::size_t>(came)}, secret);
  if (read.state == ProxyHeader::State::kWhole) {
    ::recv(socket, front.data(), read.bytes, MSG_DONTWAIT);
  }
  return read;
}

}  // namespace commensal::core
