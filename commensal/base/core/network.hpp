// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>

namespace commensal::core {

/// Whom an address is counted as: its IPv4 address, or its IPv6 site (/48), since whoever has one
/// address of a site may have all of them. An IPv4 address mapped into IPv6 is the IPv4 address.
/// As hexadecimal digits; "" for other families. Any thread.
std::string network_of(const sockaddr* address);

}  // namespace commensal::core
