// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/trade/pay/ticket/odds.hpp>
#include <commensal/trade/pay/ticket/summary.hpp>
#include <limits>

namespace commensal::ticket {
namespace {

constexpr std::uint64_t kWindowMs = 3'600'000;
constexpr std::uint64_t kSpanMsMin = 1'000;  // one ticket alone is no rate

void add(Amount& sum, const Amount& more) { sum = sum.plus(more).value_or(sum); }

/// How often tickets are made, and what the youngest one may win.
struct Pace {
  std::uint64_t tickets = 0;
  std::uint64_t oldest_ms = 0;
  std::uint64_t youngest_ms = 0;
  core::Digest threshold{};

  void see(const Record& record, std::uint64_t now_ms) {
    if (record.committed_ms + kWindowMs < now_ms) return;
    oldest_ms = tickets == 0 ? record.committed_ms : std::min(oldest_ms, record.committed_ms);
    if (record.committed_ms >= youngest_ms) {
      youngest_ms = record.committed_ms;
      threshold = record.win_threshold;
    }
    ++tickets;
  }
  double per_second(std::uint64_t now_ms) const {
    const std::uint64_t span_ms = std::max(now_ms - std::min(now_ms, oldest_ms), kSpanMsMin);
    return 1000.0 * static_cast<double>(tickets) / static_cast<double>(span_ms);
  }
};

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
                  const std::function<bool(const Record&)>& is_meant) {
  Summary made;
  Pace pace;
  double variance_sum = 0;
  book.each([&](const Record& record) {
    if (!is_meant(record)) return;
    ++made.counts[static_cast<std::size_t>(record.state)];
    pace.see(record, now_ms);
    if (is_settled(record.state)) return;
    if (record.state <= State::kDrawn) {
      add(made.expected, expected_value(record.face_value, record.win_threshold));
      variance_sum += variance(record.face_value, record.win_threshold);
    } else {
      ++made.claims;
      add(made.claimed, record.face_value);
    }
  });
  made.deviation = std::sqrt(variance_sum);
  made.per_second = pace.per_second(now_ms);
  made.seconds_to_payment = seconds_to_win(pace.threshold, made.per_second);
  return made;
}

}  // namespace commensal::ticket
