// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/network.hpp>
#include <commensal/serve/rpc/peer.hpp>
#include <commensal/serve/tls/certificate.hpp>
#include <utility>

namespace commensal::rpc {

Peer peer_of(const std::string& name) {
  const std::size_t scheme = name.find(':');
  const std::size_t colon = name.rfind(':');
  if (colon <= scheme) return {name, name};
  std::string host = name.substr(scheme + 1, colon - scheme - 1);
  if (host.starts_with("%5B")) host = host.substr(3);
  host = host.substr(host.starts_with('[') ? 1 : 0);
  host = host.substr(0, host.find_first_of("]%"));
  const std::string port = name.substr(colon + 1);
  sockaddr_storage address{};
  if (!core::read_address(host, port, address)) return {host, name};
  const auto* const at = reinterpret_cast<const sockaddr*>(&address);
  return {core::network_of(at), core::connection_of(at), tls::is_loopback(host)};
}

Peer peer_of(const std::string& name, const Door& door) {
  Peer made = peer_of(name);
  Door::Origin origin = door.origin_of(made.connection);
  made.network = std::move(origin.network);
  made.is_local = made.is_local && origin.way == Door::Origin::Way::kDirect;
  return made;
}

}  // namespace commensal::rpc
