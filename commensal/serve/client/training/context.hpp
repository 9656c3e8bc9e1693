// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/client/training/training.hpp>
#include <commensal/serve/client/training/under_way.hpp>

// Inside the room: what its parts share of one call of run().
namespace commensal::training {

inline constexpr std::int64_t kNewsMs = 2'000;       // for news, at a time
inline constexpr std::int64_t kAwayMsMax = 120'000;  // a gateway, or a provider, is given up
inline constexpr int kVainMax = 3;  // rollouts in a row that fail and bring nothing

/// Of a whole training, whatever segments it comes in.
struct Tally {
  std::uint64_t paid = 0;  // segments that were made in this run
  std::string waits_for;   // what was told last
  bool has_begun = false;  // a rollout
  std::int64_t here = -1;  // the last step of the last segment that was made here
};

struct Context {
  Outside outside;
  bool audits_all;
  std::stop_token stop;
  Tally tally = {};
  UnderWay under_way{outside.gateway, outside.clock};

  bool is_stopped() const { return stop.stop_requested(); }
  /// A wait that ends and comes again is no news.
  void tell_waiting(const std::string& why) {
    if (why.empty() || why == tally.waits_for) return;
    outside.observer.told_waiting(why);
    tally.waits_for = why;
  }
};

}  // namespace commensal::training
