// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/belief.hpp>
#include <commensal/collocation/governor/books.hpp>
#include <optional>

namespace commensal::governor {

/// What a governor leaves to the next one: after a restart, or where more guests can run.
struct Carried {
  std::optional<Learnt> learnt{};  // nothing before a guest has run
  HourSums hour{};                 // the books of an hour
  double hour_s = 0;               // ... of which so much has passed
  double minute_run_s = 0;         // Minute::run_s
  double rest_s = 0;               // it is to stand still for so long, after a trip
  double back_off_s = 0;           // ... and after the next one; 0: as after the first
};

/// As it stands so much later: what was learnt is less certain, though never less than nothing was,
/// and books of an hour that is over are empty.
Carried later(const Carried& carried, double seconds, const Rules& rules);

}  // namespace commensal::governor
