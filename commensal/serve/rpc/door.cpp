// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/rpc/door.hpp>
#include <cstring>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPauseMs = 20;  // where there are no files left
constexpr double kNs = 1e-9;

struct Found {
  addrinfo* list = nullptr;
  ~Found() {
    if (list != nullptr) ::freeaddrinfo(list);
  }
};

std::string why(int error) {
  return error == EADDRINUSE ? "the port is in use" : std::strerror(error);
}

void turn_away(int accepted) {
  constexpr linger kAtOnce{1, 0};
  ::setsockopt(accepted, SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
  ::close(accepted);
}

}  // namespace

bool Newcomers::take(Bucket& bucket, double burst, double per_second, std::int64_t now_ns) {
  const double passed_s =
      kNs * static_cast<double>(std::max<std::int64_t>(now_ns - bucket.at_ns, 0));
  bucket.left = std::min(burst, bucket.left + per_second * passed_s);
  bucket.at_ns = now_ns;
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

void Newcomers::forget(std::int64_t now_ns) {
  constexpr double kFullAfterS = limits::kNewcomersAtOnce / limits::kNewcomersPerSecond;
  if (networks_.size() < limits::kNewcomerNetworksMax) return;
  std::erase_if(networks_, [&](const auto& one) {
    return kNs * static_cast<double>(now_ns - one.second.at_ns) > kFullAfterS;
  });
  if (networks_.size() >= limits::kNewcomerNetworksMax) networks_.clear();
}

bool Newcomers::admit(const std::string& network, std::int64_t now_ns) {
  forget(now_ns);
  if (!all_) all_ = Bucket{limits::kNewcomersAllPerSecond, now_ns};
  const auto own = networks_.try_emplace(network, Bucket{limits::kNewcomersAtOnce, now_ns}).first;
  return take(own->second, limits::kNewcomersAtOnce, limits::kNewcomersPerSecond, now_ns) &&
         take(*all_, limits::kNewcomersAllPerSecond, limits::kNewcomersAllPerSecond, now_ns);
}

Result<std::unique_ptr<Door>> Door::open(const std::string& address) {
  const auto refuse = [&](const std::string& reason) {
    return fail(ErrorCode::kUnavailable, "cannot listen for providers on '{}': {}", address,
                reason);
  };
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return refuse("expected HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  Found found;
  const int failed = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found.list);
  if (failed != 0) return refuse(::gai_strerror(failed));
  std::unique_ptr<Door> made(new Door);
  made->listening_ = core::Descriptor(
      ::socket(found.list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  made->wake_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  const int fd = made->listening_.get();
  constexpr int kOne = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &kOne, sizeof kOne);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &kOne, sizeof kOne);  // those accepted inherit it
  if (::bind(fd, found.list->ai_addr, found.list->ai_addrlen) != 0 || ::listen(fd, SOMAXCONN) != 0)
    return refuse(why(errno));
  sockaddr_storage here{};
  socklen_t size = sizeof here;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0) return refuse(why(errno));
  made->port_ = ntohs(here.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(here).sin_port
                                                : reinterpret_cast<sockaddr_in6&>(here).sin6_port);
  return made;
}

void Door::begin(std::function<void(int, int)> take) {
  thread_ = std::jthread([this, take = std::move(take)](const std::stop_token& stop) {
    const core::SystemClock clock;
    Newcomers newcomers;
    while (!stop.stop_requested()) {
      pollfd waits[] = {{listening_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      ::poll(waits, std::size(waits), -1);
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int accepted = ::accept4(listening_.get(), reinterpret_cast<sockaddr*>(&from), &size,
                                     SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted < 0 && (errno == EMFILE || errno == ENFILE)) ::poll(&waits[1], 1, kPauseMs);
      if (accepted < 0) continue;
      if (newcomers.admit(core::network_of(reinterpret_cast<const sockaddr*>(&from)),
                          clock.monotonic_ns())) {
        take(listening_.get(), accepted);
      } else {
        turn_away(accepted);
      }
    }
  });
}

void Door::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  const std::uint64_t one = 1;
  if (::write(wake_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

Door::~Door() { stop(); }

}  // namespace commensal::rpc
