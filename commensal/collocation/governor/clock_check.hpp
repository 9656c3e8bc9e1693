// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/belief.hpp>
#include <commensal/collocation/governor/books.hpp>
#include <commensal/collocation/governor/epoch.hpp>

namespace commensal::governor {

/// What the guest costs by the clock, of hosts whose main signal is by another time: waits for
/// locks, memory and disks are only there. As Hour, by the drawn contrast, but with the squares of
/// what the contrasts were as their variance (V. de la Peña 1999): what scatters by the clock is
/// whatever else the machine does, and no model holds for that. A value.
class ClockCheck {
 public:
  explicit ClockCheck(const Rules& rules) : rules_(rules), belief_(rules, {}), hour_(rules) {}

  /// An epoch has ended in which the host's mean rate by the clock was `rate`, and the guest did
  /// that. One that was not drawn tells only of the rate.
  void add(double now_s, const Epoch& epoch, const Belief::Exposure& guest, double rate);
  /// More is shown to be lost than the guest may cost of the time since this hour began. Where it
  /// were only what is promised, it would be that much that is lost.
  bool is_above() const;
  /// Seconds of this hour's work that are shown to be lost.
  double lost_low_s() const { return hour_.lost_s() - hour_.radius_s(0); }

 private:
  Rules rules_;
  Belief belief_;
  Hour hour_;
  std::optional<double> begin_s_{};
  double now_s_ = 0;
};

}  // namespace commensal::governor
