// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/collocation/guest/guest_process.hpp>
#include <commensal/collocation/guest/messages.hpp>
#include <commensal/verify/rollout/engine_factory.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace commensal::lab {

struct HostDemoOptions {
  core::Path folder;    // fresh state
  core::Path program;   // hosts/equihash
  double guest_s = 30;  // that pictures are counted
  /// What gateway (no guest) and providers compute with.
  std::function<std::unique_ptr<rollout::EngineFactory>(graph::SessionOptions,
                                                        guest::GuestProcess*)>
      engines;
};

/// How a host and the providers beside it got on.
struct HostDemo {
  double host_rate = 0;   // bucket passes a second without the guest, as last measured
  double kept = 0;        // its rate over what it would have been alone, as the governor estimates
  double kept_lower = 0;  // ... at least, at the promised confidence; 0: nothing was measured
  double promise = 0;     // the share that may be lost
  bool is_shown = false;  // that no more was lost so far
  double scatter = 0;     // of the host's rate over 4 s, and what of that others took
  double not_given = 0;
  // Bucket passes a second by the host's own counter: alone, over `measured_s`, alone again.
  double own_before = 0, own_beside = 0, own_after = 0;
  double measured_s = 0;  // from the first stretch with the guest on, all of which both count
  double guest_s = 0;     // the newest part of it, which the pictures are counted in
  std::uint64_t images = 0;
  double images_per_s = 0;
  double images_alone_per_s = 0;  // while the host stood still and nothing held the guest
  guest::Incomes incomes;         // in units of the demo's ledger; what a picture costs is `price`
  double price = 0;
  double budget = 0;         // how fast the guest may run on average now, of full speed
  double cost = 0;           // of the host's rate that a guest at full speed would take
  std::string guest_is_off;  // why, or ""
};

/// An Equihash solver of one thread, as a process of its own, beside two providers and a gateway in
/// this one, who work for play money. The guest is counted without the host for some seconds, then
/// the host is looked at alone, about a quarter of a minute; then SqueezeNet requests stream
/// without end while the governor holds the providers, and for half a minute of that, once it has
/// learnt what they cost, the pictures are counted; in the end the host is alone again. `watch` is
/// told what goes on, in words. Errors: kUnavailable (the host does not work),
/// whatever a part refuses.
core::Result<HostDemo> run_host_demo(const HostDemoOptions& options,
                                     const std::function<void(const std::string&)>& watch);

/// What the governor says of it, who promises so much; nothing of what it has not seen.
HostDemo report_of(const governor::Status& status, double promise);

}  // namespace commensal::lab
