// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/trade/market/risk/belief.hpp>
#include <commensal/trade/market/risk/event.hpp>
#include <commensal/trade/market/risk/figure.hpp>

namespace commensal::risk {

/// All that the desk knows of one provider: its events, added up.
/// Thread-safety: const calls from any thread.
class Record {
 public:
  /// Precondition: the prior is valid.
  Record(const crypto::Address& provider, const Prior& prior);

  /// Errors, by name, the record unchanged: kInvalidArgument (another provider, an invalid event),
  /// kAlreadyExists (a replay), kFailedPrecondition (a gap, or a clock that went back).
  core::Result<void> apply(const Event& event);

  struct Counts {
    std::uint64_t events = 0;
    std::uint64_t answers = 0;
    std::uint64_t matches = 0;
    std::uint64_t mismatches = 0;
    std::uint64_t unavailable = 0;
    std::uint64_t first_ms = 0;
    std::uint64_t last_ms = 0;
    bool operator==(const Counts&) const = default;
  };
  const crypto::Address& provider() const { return provider_; }
  const Counts& counts() const { return counts_; }
  double stake() const { return stake_; }
  double escrowed() const { return escrowed_; }
  /// The posterior at `now_ms`; a time before the last event counts as that.
  Belief belief(std::uint64_t now_ms) const;
  /// The belief's mean, with what it was made of.
  Figure cheating_rate(std::uint64_t now_ms) const;

 private:
  double age_days(std::uint64_t now_ms) const;
  bool audited() const { return counts_.matches + counts_.mismatches + counts_.unavailable > 0; }
  double prior_honest(std::uint64_t now_ms) const;
  core::Result<void> expect_next(const Event& event) const;

  crypto::Address provider_;
  Prior prior_;
  Counts counts_;
  double stake_ = 0;
  double escrowed_ = 0;
  Belief belief_;
};

}  // namespace commensal::risk
