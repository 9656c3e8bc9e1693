// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/statistics.hpp>
#include <limits>

namespace commensal::ticket {

Statistics statistics(const Totals& totals) {
  Statistics made;
  made.expected = to_double(totals.expected);
  made.deviation = std::sqrt(totals.variance);
  made.won = to_double(totals.value_won);
  if (made.deviation > 0) made.deviations = (made.won - made.expected) / made.deviation;
  if (totals.paid > 0) {
    made.wait_ms_mean = static_cast<double>(totals.wait_ms) / static_cast<double>(totals.paid);
  }
  if (totals.won > 0) {
    made.tickets_per_payment =
        static_cast<double>(totals.won + totals.lost) / static_cast<double>(totals.won);
  }
  return made;
}

double seconds_to_win(const core::Digest& threshold, double tickets_per_second) {
  if (!(tickets_per_second > 0)) return std::numeric_limits<double>::infinity();
  return tickets_per_win(threshold) / tickets_per_second;
}

}  // namespace commensal::ticket
