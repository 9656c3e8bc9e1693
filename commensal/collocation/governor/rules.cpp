// SPDX-License-Identifier: Apache-2.0
#include <commensal/collocation/governor/rules.hpp>

namespace commensal::governor {

Rules promising(double hour, double minute) {
  const Rules rules;
  Rules made;
  made.promise = hour;
  made.set_point = rules.set_point / rules.promise * hour;
  made.minute_promise = minute;
  made.minute_set_point = rules.minute_set_point / rules.minute_promise * minute;
  return made;
}

}  // namespace commensal::governor
