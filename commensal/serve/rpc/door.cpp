// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/serve/rpc/door.hpp>

namespace commensal::rpc {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPauseMs = 20;  // where there are no files left

void turn_away(int accepted) {
  constexpr linger kAtOnce{1, 0};
  ::setsockopt(accepted, SOL_SOCKET, SO_LINGER, &kAtOnce, sizeof kAtOnce);
  ::close(accepted);
}

}  // namespace

Result<std::unique_ptr<Door>> Door::open(const std::string& address) {
  const auto where = core::Endpoint::parse(address);
  if (!where) {
    return fail(ErrorCode::kUnavailable, "cannot listen for providers on '{}': expected HOST:PORT",
                address);
  }
  auto listener = core::listen_on(*where);
  if (!listener) {
    return fail(ErrorCode::kUnavailable, "cannot listen for providers on '{}': {}", address,
                listener.error().message);
  }
  std::unique_ptr<Door> made(new Door);
  made->listener_ = *std::move(listener);
  made->wake_ = core::Descriptor(::eventfd(0, EFD_CLOEXEC));
  return made;
}

void Door::begin(std::function<void(int, int)> take) {
  thread_ = std::jthread([this, take = std::move(take)](const std::stop_token& stop) {
    const core::SystemClock clock;
    Newcomers newcomers;
    while (!stop.stop_requested()) {
      pollfd waits[] = {{listener_.socket.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      ::poll(waits, std::size(waits), -1);
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      const int accepted = ::accept4(listener_.socket.get(), reinterpret_cast<sockaddr*>(&from),
                                     &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted < 0 && (errno == EMFILE || errno == ENFILE)) ::poll(&waits[1], 1, kPauseMs);
      if (accepted < 0) continue;
      if (newcomers.admit(core::network_of(reinterpret_cast<const sockaddr*>(&from)),
                          clock.monotonic_ns())) {
        take(listener_.socket.get(), accepted);
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
  // Who comes now is to be refused, not to wait in the kernel.
  listener_.socket = core::Descriptor();
}

Door::~Door() { stop(); }

}  // namespace commensal::rpc
