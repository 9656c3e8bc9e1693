// SPDX-License-Identifier: Apache-2.0
// How a connection begins where relays may hand it on: with whose it is.
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/network.hpp>
#include <commensal/base/crypto/proxy_header.hpp>
#include <commensal/serve/http/connection.hpp>

namespace commensal::http {

namespace {

// A header comes in one piece, as good as always.
constexpr std::chrono::milliseconds kRestPause{10};
constexpr int kRestTries = 200;
constexpr int kRelaysMax = 4;  // on the way of one connection
constexpr std::size_t kWrongHeaderBytes = std::size_t{1} << 30;

}  // namespace

void Connection::hear_front() {
  if (shared_.relays.current.empty()) return begin();
  allow(limits::kHttpIdleWaitMs);
  stream_.socket().async_wait(Socket::wait_read, [self = shared_from_this()](Error error) {
    if (error) return self->close();
    self->take_front(0);
  });
}

void Connection::take_front(int tries) {
  const auto read = crypto::take_proxy_header(stream_.socket().native_handle(), shared_.relays,
                                              shared_.clock.wall_ms());
  switch (read.state) {
    case crypto::ProxyHeader::State::kNone:
      return begin();
    case crypto::ProxyHeader::State::kWrong:
      // As if it had been answered as much as one may be in a second.
      shared_.services.serving.strangers.answer(place_.party, kWrongHeaderBytes,
                                                shared_.clock.monotonic_ns());
      return close();
    case crypto::ProxyHeader::State::kWhole: {
      if (++relays_ > kRelaysMax) return close();
      const std::lock_guard lock(place_mutex_);
      place_.party = "@" + core::network_of(reinterpret_cast<const sockaddr*>(&read.from));
      break;
    }
    case crypto::ProxyHeader::State::kPartial:
      if (tries == kRestTries) return close();
      ++waits_;
      timer_.expires_after(kRestPause);
      timer_.async_wait([self = shared_from_this(), tries](Error error) {
        if (error) return self->close();
        self->take_front(tries + 1);
      });
      return;
  }
  hear_front();  // one relay may have taken it from another, which was the writer's until just now
}

}  // namespace commensal::http
