// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Addresses of TCP, and sockets that listen. Pure functions but for listen_on(). Any thread.
namespace commensal::core {

/// Where somebody listens.
struct Endpoint {
  std::string host;  // a name or an address, IPv6 without brackets
  std::uint16_t port = 0;

  /// "HOST:PORT"; an IPv6 address in brackets or without. Port 0 is one. Nothing where it is
  /// neither: no text before the last colon, or no number up to 65535 after it.
  static std::optional<Endpoint> parse(std::string_view text);
  /// The same for parse(), and in a URL: IPv6 in brackets.
  std::string text() const;
};
/// Its host; "" where it is none, which is said where it is listened on or dialled.
inline std::string host_of(std::string_view endpoint) {
  return Endpoint::parse(endpoint).value_or(Endpoint{}).host;
}

/// The parts of "HOST:PORT,HOST:PORT,...": one at least, whatever they are.
std::vector<std::string> endpoints_of(std::string_view list);

/// By which gateways know each other. Times are Clock::wall_ms().
struct RelaySecrets {
  std::string current = {};  // "": there are no relays
  std::string former = {};   // believed too, until then; "": none
  std::int64_t former_until_ms = 0;
};

struct Listener {
  Descriptor socket;  // does not block, not inherited
  std::uint16_t port = 0;
  RelaySecrets relays;  // of those who may say whom they carry (crypto/proxy_header.hpp)
};
/// Listens on the host's first address; "localhost" is 127.0.0.1 wherever one listens, so that who
/// dials that finds it. Port 0 takes a free one. Error: kUnavailable, why in a few words.
Result<Listener> listen_on(const Endpoint& where);

/// The same socket once more: who comes there goes to whoever accepts first. Error: kUnavailable.
Result<Listener> share(const Listener& listener);

/// Whom an address is counted as: its IPv4 address, or its IPv6 site (/48), since whoever has one
/// address of a site may have all of them. An IPv4 address mapped into IPv6 is the IPv4 address.
/// As hexadecimal digits; "" for other families.
std::string network_of(const sockaddr* address);
/// Address and port, which tell a connection from all others to one port at a time.
std::string connection_of(const sockaddr* address);
/// An address and a port in digits. False where they are none.
bool read_address(const std::string& host, const std::string& port, sockaddr_storage& address);

}  // namespace commensal::core
