// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/trade/pay/ticket/record.hpp>
#include <map>
#include <utility>

namespace commensal::ticket {

/// How often tickets were made lately, and what the youngest one may win: in slices of a minute,
/// of the last hour. Not thread-safe.
class Pace {
 public:
  void see(const Record& record);
  /// What both have seen.
  void join(const Pace& other);
  /// Tickets a second in the hour before `now_ms`.
  double per_second(std::uint64_t now_ms) const;
  const core::Digest& threshold() const { return threshold_; }

 private:
  struct Slice {
    std::uint64_t first_ms = 0, tickets = 0;
  };
  void add(std::uint64_t minute, const Slice& slice);

  std::map<std::uint64_t, Slice> slices_;  // by minute
  std::uint64_t youngest_ms_ = 0;
  core::Digest threshold_{};
};

/// What a book keeps of one beacon, counted as it changes. Not thread-safe.
class Tally {
 public:
  /// Of tickets on the same terms.
  struct Waiting {
    std::uint64_t undrawn = 0;  // that wait for their draw
    std::uint64_t claims = 0;   // winners that nobody has decided on
  };
  using Terms = std::pair<Amount, core::Digest>;  // face value, threshold

  /// A ticket is new: once for each.
  void see(const Record& record) { pace_.see(record); }
  void add(const Record& record) { change(record, 1); }
  void remove(const Record& record) { change(record, ~std::uint64_t{0}); }

  const std::array<std::uint64_t, kStates>& counts() const { return counts_; }
  const std::map<Terms, Waiting>& waiting() const { return waiting_; }
  const Pace& pace() const { return pace_; }
  bool is_empty() const { return counts_ == decltype(counts_){}; }
  /// How many are not settled.
  std::size_t awaited() const;

 private:
  void change(const Record& record, std::uint64_t by);

  std::array<std::uint64_t, kStates> counts_{};  // by State
  std::map<Terms, Waiting> waiting_;             // none of zeros
  Pace pace_;
};

}  // namespace commensal::ticket
