// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/trade/pay/ticket/book.hpp>
#include <functional>

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

/// What a book keeps at one moment, for people; what it has ever held is in its totals().
struct Summary {
  std::array<std::uint64_t, kStates> counts{};  // by State
  Amount expected;                              // value before the draw of those that wait for it
  double deviation = 0;                         // one standard deviation of it, in units
  std::uint64_t claims = 0;                     // winners that nobody has decided on
  Amount claimed;                               // their face values
  double per_second = 0;                        // tickets in the last hour
  double seconds_to_payment = 0;                // on average, at that rate; infinite without one
};

/// Of those beacons that `is_meant` says yes to. O(beacons), whatever the number of tickets.
Summary summarise(const TicketBook& book, std::uint64_t now_ms,
                  const std::function<bool(const core::Digest& beacon)>& is_meant);

}  // namespace commensal::ticket
