// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/trade/market/risk/record.hpp>
#include <limits>

namespace commensal::risk {
namespace {

using core::ErrorCode;

double days_of(std::uint64_t ms) { return static_cast<double>(ms) / (24.0 * 3600 * 1000); }

/// What a stake or an age does to the odds of a cheater.
double factor_of(double value, double reference, double factor_min) {
  if (reference == 0) return 1;
  return std::max(factor_min, reference / (reference + value));
}

}  // namespace

Record::Record(const crypto::Address& provider, const Prior& prior)
    : provider_(provider), prior_(prior), belief_(prior, prior.honest) {}

double Record::age_days(std::uint64_t now_ms) const {
  if (counts_.events == 0) return 0;
  return days_of(std::max(now_ms, counts_.last_ms) - counts_.first_ms);
}

double Record::prior_honest(std::uint64_t now_ms) const {
  const double honest = prior_.honest;
  const double cheats = (1 - honest) *
                        factor_of(stake_, prior_.stake_reference, prior_.factor_min) *
                        factor_of(age_days(now_ms), prior_.age_reference_days, prior_.factor_min);
  const double all = honest + cheats;
  return all > 0 ? honest / all : 0;
}

core::Result<void> Record::expect_next(const Event& event) const {
  COMMENSAL_TRY(event.validity());
  if (event.provider != provider_) {
    return core::fail(ErrorCode::kInvalidArgument, "event: of provider {}, expected {}",
                      crypto::to_text(event.provider), crypto::to_text(provider_));
  }
  if (event.number < counts_.events) {
    return core::fail(ErrorCode::kAlreadyExists, "event: number {} again, expected {}",
                      event.number, counts_.events);
  }
  if (event.number > counts_.events) {
    return core::fail(ErrorCode::kFailedPrecondition, "event: number {}, expected {}", event.number,
                      counts_.events);
  }
  if (event.at_ms < counts_.last_ms) {
    return core::fail(ErrorCode::kFailedPrecondition,
                      "event: the clock went back from {} ms to {} ms", counts_.last_ms,
                      event.at_ms);
  }
  if (event.count > std::numeric_limits<std::uint64_t>::max() - counts_.answers) {
    return core::fail(ErrorCode::kInvalidArgument,
                      "event: {} answers after {}, expected a sum "
                      "below 2^64",
                      event.count, counts_.answers);
  }
  return {};
}

core::Result<void> Record::apply(const Event& event) {
  COMMENSAL_TRY(expect_next(event));
  if (counts_.events == 0) counts_.first_ms = counts_.last_ms = event.at_ms;
  const double honest = prior_honest(event.at_ms);
  if (audited()) {
    belief_.drift(days_of(event.at_ms - counts_.last_ms), honest);
  } else {
    belief_ = Belief(prior_, honest);
  }
  if (event.kind == EventKind::kAnswers) counts_.answers += event.count;
  if (event.kind == EventKind::kStake) stake_ = units_of(event.amount);
  if (event.kind == EventKind::kEscrow) escrowed_ = units_of(event.amount);
  if (event.kind == EventKind::kAudit) {
    belief_.observe(event.outcome, honest);
    std::uint64_t* const counters[] = {&counts_.matches, &counts_.mismatches, &counts_.unavailable};
    ++*counters[static_cast<std::size_t>(event.outcome)];
  }
  ++counts_.events;
  counts_.last_ms = event.at_ms;
  return {};
}

Belief Record::belief(std::uint64_t now_ms) const {
  // Without evidence there is none to go stale: the prior of this age and stake is all there is.
  if (!audited()) return {prior_, prior_honest(now_ms)};
  Belief now = belief_;
  now.drift(days_of(std::max(now_ms, counts_.last_ms) - counts_.last_ms), prior_honest(now_ms));
  return now;
}

Figure Record::cheating_rate(std::uint64_t now_ms) const {
  constexpr double kMass = 0.9;
  const Belief now = belief(now_ms);
  const auto [low, high] = now.interval(kMass);
  const auto count = [](std::uint64_t value) { return static_cast<double>(value); };
  return {"cheating rate",
          now.mean(),
          "posterior mean of P(the next answer is wrong, knowingly)",
          "Adams, MacKay 2007",
          {{"audits that matched", count(counts_.matches), "re-executed to the same bits"},
           {"mismatches", count(counts_.mismatches), "re-executed to other bits"},
           {"not opened", count(counts_.unavailable), "nothing to re-execute in time"},
           {"answers", count(counts_.answers), "delivered, audited or not"},
           {"age", age_days(now_ms), "days since it was first heard of"},
           {"stake", stake_, "units that it can lose"},
           {"prior, honest", prior_honest(now_ms), "believed before any audit, by age and stake"},
           {"change per audit", prior_.turn, "it becomes somebody else: discounts old evidence"},
           {"half-life of evidence", prior_.half_life_days, "days; likewise, by time"},
           {"P(honest)", now.honest(), "posterior probability that it does not cheat now"},
           {"5 %", low, "the rate lies below with probability 0.05 at most"},
           {"95 %", high, "the rate lies above with probability 0.05 at most"}}};
}

}  // namespace commensal::risk
