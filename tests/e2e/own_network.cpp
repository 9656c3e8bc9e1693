// SPDX-License-Identifier: Apache-2.0
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <cstring>
#include <string>
#include <tests/e2e/own_network.hpp>

namespace commensal::e2e {
namespace {

constexpr std::uint32_t kOne = 0xFFFFFFFF;  // a mask of one address

/// netdevice(7); of an address beside the first the name is "lo:2".
void configure(const std::string& name, unsigned long what, std::uint32_t address, short flags) {
  const core::Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), sizeof request.ifr_name - 1);
  if (what == SIOCSIFFLAGS) {
    request.ifr_flags = flags;
  } else {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_addr.s_addr = htonl(address);
    std::memcpy(&request.ifr_addr, &in, sizeof in);
  }
  core::check(::ioctl(any.get(), what, &request) == 0, "loopback is configured");
}

}  // namespace

OwnNetwork OwnNetwork::enter() {
  OwnNetwork made;
  made.is_own_ = ::unshare(CLONE_NEWNET) == 0;
  if (!made.is_own_) return made;
  configure("lo", SIOCSIFFLAGS, 0, IFF_UP);
  configure("lo", SIOCSIFNETMASK, kOne, 0);  // else all of 127.0.0.0/8 would be there
  return made;
}

void OwnNetwork::set(int number, bool is_there) const {
  if (!is_own_) return;
  const std::string name = "lo:" + std::to_string(number);
  if (!is_there) return configure(name, SIOCSIFFLAGS, 0, 0);
  configure(name, SIOCSIFADDR, INADDR_LOOPBACK - 1 + static_cast<std::uint32_t>(number), 0);
  configure(name, SIOCSIFNETMASK, kOne, 0);
}

}  // namespace commensal::e2e
