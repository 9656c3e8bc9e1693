// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/loop.hpp>
#include <commensal/base/core/store.hpp>
#include <commensal/base/crypto/address.hpp>
#include <commensal/serve/gateway/events.hpp>
#include <deque>
#include <set>
#include <utility>
#include <vector>

namespace commensal::gateway {

/// Which providers are connected, kept for the gateway that starts next on this store: that one
/// lets requests wait for them a while (Roster::expect). Who has left counts for
/// limits::kPresenceKeptMs more, since a gateway that is stopped loses all of them first. Written
/// limits::kPresenceWriteMs after a change, in one row: who came later than that before a crash is
/// not waited for. Thread-safety: the loop's thread.
class Presence {
 public:
  /// All of them outlive this object.
  Presence(core::Loop& loop, const core::Clock& clock, core::Store& store, EventQueue& events)
      : loop_(loop), clock_(clock), store_(store), events_(events) {}

  /// Once, before the rest: who was there before. They count on as if they had just left.
  /// Error: kDataLoss.
  core::Result<std::vector<crypto::Address>> open();
  void on_connect(const crypto::Address& provider);
  void on_leave(const crypto::Address& provider);

 private:
  void left(const crypto::Address& provider);
  void write_later();
  void write();

  core::Loop& loop_;
  const core::Clock& clock_;
  core::Store& store_;
  EventQueue& events_;
  std::set<crypto::Address> connected_;
  std::deque<std::pair<std::int64_t, crypto::Address>> left_;  // when (monotonic, ms), in order
  bool is_due_ = false;                                        // write() is
};

}  // namespace commensal::gateway
