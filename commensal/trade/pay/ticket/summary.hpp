// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/trade/pay/ticket/book.hpp>
#include <functional>

namespace commensal::ticket {

/// What a book keeps at one moment, for people; what it has ever held is in its totals().
struct Summary {
  std::array<std::uint64_t, kStates> counts{};  // by State
  Amount expected;                              // value before the draw of those that wait for it
  double deviation = 0;                         // one standard deviation of it, in units
  std::uint64_t claims = 0;                     // winners that nobody has decided on
  Amount claimed;                               // their face values
  double per_second = 0;                        // tickets in the last hour at most
  double seconds_to_payment = 0;                // on average, at that rate; infinite without one
};

/// Of those records that `is_meant` says yes to. O(n).
Summary summarise(const TicketBook& book, std::uint64_t now_ms,
                  const std::function<bool(const Record&)>& is_meant);

}  // namespace commensal::ticket
