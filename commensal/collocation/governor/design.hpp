// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/belief.hpp>
#include <commensal/collocation/governor/books.hpp>
#include <commensal/collocation/governor/epoch.hpp>
#include <string_view>

namespace commensal::governor {

/// What is known when an epoch is planned.
struct Known {
  Belief::Share cost;     // of a guest at full speed that runs all the time
  Belief::Share at_once;  // ... without what it costs late: that is what epochs tell
  double noise = 0;       // relative variance of the host's mean over one second
  double least_s = 0;     // no epoch is shorter
  double hour_left_s = 0;
  double minute_run_s = 0;    // Minute::run_s
  double level_tried = 0;     // the highest so far
  double seconds_before = 0;  // of the epoch before; 0: there was none
  int drawn = 0;              // epochs since what was learnt before is held to be so
};

/// The next epoch, before it is drawn. As likely with the guest as the hour bears: by what is
/// believed of the cost, by what the hour's books will be able to show, and, while the cost is not
/// known well, as likely as tells most of it, within the hour's share for exploring. What a minute
/// bears bounds length and level. A pure function.
struct Design {
  Plan plan;
  bool is_explored = false;  // it is for learning, not for harvest
  std::string_view why{};    // nothing is drawn
};
Design design(const Rules& rules, const Hour& hour, const Known& known);

}  // namespace commensal::governor
