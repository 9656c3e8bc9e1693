// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace commensal::guest {

/// What one guest of a machine can use.
struct Wish {
  double weight = 1;      // beside the other guests; more than 0
  double processors = 1;  // that its threads can keep busy; more than 0
  bool wants = true;      // it has something to do
};

/// The levels, each in [0, 1], at which guests share a budget of work: `level` of `capacity`
/// processors. By weight among those that want; what one cannot use goes to the others, so that
/// the work of all is the budget unless all are at full speed. Who wants nothing gets nothing,
/// unless nobody wants: then each gets what it would if all did, so that a guest that is alone need
/// not wait for its share. A pure function. Thread-safety: any thread.
std::vector<double> divide(double level, double capacity, std::span<const Wish> guests);

}  // namespace commensal::guest
