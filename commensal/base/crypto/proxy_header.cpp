// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <commensal/base/core/limits_relay.hpp>
#include <commensal/base/crypto/hmac.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <cstring>

namespace commensal::crypto {
namespace {

using core::Bytes;
using core::RelaySecrets;

constexpr std::array<std::uint8_t, 12> kSignature = {0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D,
                                                     0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A};
constexpr std::uint8_t kProxy = 0x21, kTcp4 = 0x11, kTcp6 = 0x21, kProof = 0xE0;
constexpr std::size_t kFixedBytes = 16, kFieldBytes = 3;  // before addresses; of a field
constexpr std::size_t kTimeBytes = 8, kProofBytes = kTimeBytes + sizeof(Digest);

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

void put_time(Bytes& bytes, std::int64_t ms) {
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(ms) >> shift));
  }
}

std::int64_t time_at(ByteView bytes) {
  std::uint64_t ms = 0;
  for (const std::uint8_t byte : bytes.first(kTimeBytes)) ms = ms << 8 | byte;
  return static_cast<std::int64_t>(ms);
}

/// Of a header up to its proof, and of the proof's time.
Digest proof_of(ByteView header, ByteView time, std::string_view secret) {
  constexpr std::string_view kTag = "commensal/relay/v1";
  Bytes text(kTag.begin(), kTag.end());
  text.insert(text.end(), header.begin(), header.end());
  text.insert(text.end(), time.begin(), time.end());
  return hmac_sha256(core::as_bytes(secret), text);
}

bool is_in_time(std::int64_t said_ms, std::int64_t now_ms) {
  return said_ms >= 0 && said_ms >= now_ms - limits::kProxyHeaderAgeMsMax &&
         said_ms <= now_ms + limits::kProxyHeaderAgeMsMax;
}

/// `before`: the header up to its fields.
bool is_believed(ByteView before, ByteView fields, const RelaySecrets& secrets,
                 std::int64_t now_ms) {
  if (fields.size() != kFieldBytes + kProofBytes || fields[0] != kProof ||
      number_at(fields, 1) != kProofBytes) {
    return false;
  }
  const ByteView time = fields.subspan(kFieldBytes, kTimeBytes);
  const ByteView proof = fields.subspan(kFieldBytes + kTimeBytes);
  if (!is_in_time(time_at(time), now_ms)) return false;
  const auto is_by = [&](const std::string& secret) {
    return !secret.empty() && core::equal_in_constant_time(proof, proof_of(before, time, secret));
  };
  return is_by(secrets.current) || (now_ms < secrets.former_until_ms && is_by(secrets.former));
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

Bytes proxy_header(const sockaddr* from, const sockaddr* to, std::string_view secret,
                   std::int64_t now_ms) {
  const Bytes addresses = addresses_of(from, to);
  if (addresses.empty()) return {};
  Bytes made(kSignature.begin(), kSignature.end());
  made.push_back(kProxy);
  made.push_back(from->sa_family == AF_INET ? kTcp4 : kTcp6);
  put_number(made, addresses.size() + kFieldBytes + kProofBytes);
  put(made, addresses.data(), addresses.size());
  Bytes time;
  put_time(time, now_ms);
  const Digest proof = proof_of(made, time, secret);
  made.push_back(kProof);
  put_number(made, kProofBytes);
  put(made, time.data(), time.size());
  put(made, proof.data(), proof.size());
  return made;
}

ProxyHeader read_proxy_header(ByteView front, const RelaySecrets& secrets, std::int64_t now_ms) {
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
  const ByteView whole = front.first(read.bytes);
  const std::size_t fields = kFixedBytes + addresses;
  read.state = ProxyHeader::State::kWrong;
  if (!is_believed(whole.first(fields), whole.subspan(fields), secrets, now_ms)) return read;
  read.state = ProxyHeader::State::kWhole;
  read.from = first_address(whole.subspan(kFixedBytes, addresses));
  return read;
}

ProxyHeader take_proxy_header(int socket, const RelaySecrets& secrets, std::int64_t now_ms) {
  ProxyHeader read;
  if (secrets.current.empty()) return read;
  std::array<std::uint8_t, limits::kProxyHeaderBytesMax> front{};
  const ssize_t came = ::recv(socket, front.data(), front.size(), MSG_PEEK | MSG_DONTWAIT);
  if (came < 0 && (errno == EAGAIN || errno == EINTR)) {
    read.state = ProxyHeader::State::kPartial;
    return read;
  }
  if (came <= 0) return read;  // it has ended: whoever reads it sees that
  read = read_proxy_header({front.data(), static_cast<std::size_t>(came)}, secrets, now_ms);
  if (read.state == ProxyHeader::State::kWhole) {
    ::recv(socket, front.data(), read.bytes, MSG_DONTWAIT);
  }
  return read;
}

}  // namespace commensal::crypto
