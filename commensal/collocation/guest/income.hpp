// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/governor.hpp>
#include <commensal/collocation/guest/facts.hpp>
#include <optional>
#include <string_view>

namespace commensal::guest {

/// What the host loses by guests at full speed: its income times their cost, a deviation more than
/// the mean. Nothing before either is known. A pure function.
std::optional<double> host_loses(std::optional<double> host_per_hour,
                                 const governor::Status& status);

/// Why guests stand still where income counts: they would earn no more than the host loses. ""
/// where they earn more, or where that is yet to be found out. A pure function.
std::string_view why_not_worth(const Incomes& incomes);

/// What guests would earn at full speed: what they earned in the newest hour over how fast they
/// were while they had something to do. It holds for an hour in which they hardly run; then it is
/// to be found out anew. Thread-safety: none.
class FullIncome {
 public:
  /// They have run at `level` since the last call if they `want`, and earn so much by now.
  void add(double now_s, double level, bool want, std::optional<double> earned_per_hour);
  std::optional<double> per_hour() const { return per_hour_; }

 private:
  Pace ran_{3600};
  std::optional<double> last_s_;
  double run_s_ = 0;
  std::optional<double> per_hour_;
  double known_s_ = 0;
};

}  // namespace commensal::guest
