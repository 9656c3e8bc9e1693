// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <commensal/base/core/bytes.hpp>
#include <string_view>

/// What a relay says in front of a connection that it carries: from whom it is. Version 2 of the
/// PROXY protocol (haproxy's doc/proxy-protocol.txt), TCP over IPv4 or IPv6, with a secret that
/// both sides know in a field of type 0xE0: whoever does not know it is not believed. Pure
/// functions. Any thread.
namespace commensal::core {

/// `to`: where the client has connected to, of the same family. Empty for other families, and for
/// a secret that is too long.
Bytes proxy_header(const sockaddr* from, const sockaddr* to, std::string_view secret);

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
ProxyHeader read_proxy_header(ByteView front, std::string_view secret);
/// The same of a socket's first bytes, which are taken off where the header is whole, and else left
/// there. With an empty secret nothing is looked at.
ProxyHeader take_proxy_header(int socket, std::string_view secret);

}  // namespace commensal::core
