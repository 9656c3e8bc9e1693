// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/network.hpp>
#include <span>

namespace commensal::core {

std::string network_of(const sockaddr* address) {
  constexpr std::size_t kSiteBytes = 6, kMappedAt = 12;
  if (address->sa_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
    return to_hex({reinterpret_cast<const std::uint8_t*>(&v4), sizeof v4});
  }
  if (address->sa_family != AF_INET6) return "";
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  const std::span<const std::uint8_t> bytes(v6.s6_addr);
  return to_hex(IN6_IS_ADDR_V4MAPPED(&v6) ? bytes.subspan(kMappedAt) : bytes.first(kSiteBytes));
}

}  // namespace commensal::core
