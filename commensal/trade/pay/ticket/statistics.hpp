// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/pay/ticket/record.hpp>

namespace commensal::ticket {

/// What a lottery has paid beside what it should have, for people. All in units of money and
/// milliseconds.
struct Statistics {
  double expected = 0;   // of all tickets drawn, before their draws
  double deviation = 0;  // one standard deviation of it
  double won = 0;        // face values of the winners
  /// (won - expected) / deviation: beyond 4 either way in one of 15,000 honest lotteries. 0 where
  /// nothing can deviate.
  double deviations = 0;
  double wait_ms_mean = 0;         // from commitment to payment, of what was paid
  double tickets_per_payment = 0;  // drawn for each winner so far; 0 before the first
};
Statistics statistics(const Totals& totals);

/// How long a provider waits for money, on average, that makes `tickets_per_second` tickets: the
/// time until the next winner. Infinite where either is 0.
double seconds_to_win(const core::Digest& threshold, double tickets_per_second);

}  // namespace commensal::ticket
