// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <limits>

namespace commensal::ticket {
namespace {

void add(Amount& sum, const Amount& more) { sum = sum.plus(more).value_or(sum); }

/// `each` so often; at the end of the range it stays there.
void add(Amount& sum, const Amount& each, std::uint64_t times) {
  if (const auto more = each.times(Amount(times))) add(sum, *more);
}

}  // namespace

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

Summary summarise(const TicketBook& book, std::uint64_t now_ms,
                  const std::function<bool(const core::Digest& beacon)>& is_meant) {
  Summary made;
  Pace pace;
  double variance_sum = 0;
  for (const auto& [beacon, tally] : book.tallies()) {
    if (!is_meant(beacon)) continue;
    for (std::size_t i = 0; i < kStates; ++i) made.counts[i] += tally.counts()[i];
    pace.join(tally.pace());
    for (const auto& [terms, waiting] : tally.waiting()) {
      const auto& [face, threshold] = terms;
      add(made.expected, expected_value(face, threshold), waiting.undrawn);
      variance_sum += variance(face, threshold) * static_cast<double>(waiting.undrawn);
      made.claims += waiting.claims;
      add(made.claimed, face, waiting.claims);
    }
  }
  made.deviation = std::sqrt(variance_sum);
  made.per_second = pace.per_second(now_ms);
  made.seconds_to_payment = seconds_to_win(pace.threshold(), made.per_second);
  return made;
}

}  // namespace commensal::ticket
