// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/network.hpp>
#include <string_view>

/// What a relay says in front of a connection that it carries: from whom it is. Version 2 of the
/// PROXY protocol (haproxy's doc/proxy-protocol.txt), TCP over IPv4 or IPv6, with one field, of
/// type 0xE0: the time (8 bytes, milliseconds since 1970) and an HMAC-SHA-256 of the addresses and
/// that time, by a secret that both sides know. The secret itself is never sent: what is overheard
/// is good for the same addresses and limits::kProxyHeaderAgeMsMax. Pure functions. Any thread.
namespace commensal::crypto {

/// `to`: where the client has connected to, of the same family. Empty for other families.
core::Bytes proxy_header(const sockaddr* from, const sockaddr* to, std::string_view secret,
                         std::int64_t now_ms);

struct ProxyHeader {
  enum class State {
    kNone,     // what has come begins otherwise
    kPartial,  // it may be one, and more is to come
    kWrong,    // it is one that is not believed
    kWhole,
  };
  State state = State::kNone;
  sockaddr_storage from{};
  std::size_t bytes = 0;  // of it all
};
/// `front`: the first bytes that have come, limits::kProxyHeaderBytesMax or fewer.
ProxyHeader read_proxy_header(core::ByteView front, const core::RelaySecrets& secrets,
                              std::int64_t now_ms);
/// The same of a socket's first bytes, which are taken off where the header is whole, and else left
/// there. Without secrets nothing is looked at.
ProxyHeader take_proxy_header(int socket, const core::RelaySecrets& secrets, std::int64_t now_ms);

}  // namespace commensal::crypto
