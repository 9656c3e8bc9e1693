// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace commensal::governor {

/// How fast the host worked: the mean over the stretch [at_s - over_s, at_s], by the host's own
/// progress. Seconds are those of the governor's clock; any unit of work serves, as only ratios
/// count.
struct Sample {
  double at_s = 0;
  double over_s = 0;
  double rate = 0;       // work a second
  bool limited = false;  // the device says that power or heat holds it back
};

}  // namespace commensal::governor
