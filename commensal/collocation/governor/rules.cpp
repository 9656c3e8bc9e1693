// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/governor/rules.hpp>

namespace commensal::governor {

Rules promising(double hour, double minute) {
  constexpr double kMinute = 0.03;  // what the rules as they stand promise of any minute
  const Rules rules;
  Rules made;
  made.promise = hour;
  made.set_point = rules.set_point / rules.promise * hour;
  made.minute_promise = rules.minute_promise / kMinute * minute;
  return made;
}

}  // namespace commensal::governor
