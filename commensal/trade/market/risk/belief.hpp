// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/base/protocol/verdict.hpp>
#include <vector>

namespace commensal::risk {

/// What is believed of a provider before any audit. The defaults are assumptions, not measurements.
struct Prior {
  double honest = 0.9;            // mass on "never cheats"; the rest cheats at a rate ~ Beta(a, b)
  double a = 1;                   // of the cheaters' Beta
  double b = 3;                   // likewise: they cheat on a quarter of their answers, on average
  double error = 1e-6;            // an honest answer whose bits flipped
  double fault = 1e-3;            // an honest answer that its provider cannot open
  double silent = 0.5;            // a cheater that is audited does not open, with this probability
  double turn = 1.0 / 500;        // between two audits the provider becomes somebody else
  double half_life_days = 90;     // ... and half of them do within this time
  double stake_reference = 0;     // a stake of this halves the odds of a cheater; 0: no effect
  double age_reference_days = 0;  // likewise, days since it was first heard of
  double factor_min = 0.25;       // neither of the two counts for more than this

  /// Error: kInvalidArgument, naming the field and its range.
  core::Result<void> validity() const;
};

/// The posterior of a provider's cheating rate: the probability that its next answer is wrong and
/// it knows. The provider's conduct changes now and then (`turn`, `half_life_days`): from each
/// change on it is a fresh draw from the prior. So evidence k audits and d days old counts only
/// with the probability (1 - turn)^k 2^(-d / half_life_days) that nothing has changed since, and
/// one who builds trust to cheat afterwards never gets beyond that. The belief is the exact mixture
/// over when the last change was (Adams, MacKay 2007, "Bayesian Online Changepoint Detection");
/// each part is an atom at 0 and a Beta. Beyond kRunsMax parts the two oldest share their counts.
/// Thread-safety: const calls from any thread.
class Belief {
 public:
  static constexpr std::size_t kRunsMax = 512;

  /// Precondition: the prior is valid. `honest` takes the place of prior.honest.
  Belief(const Prior& prior, double honest);

  /// Time goes by without evidence.
  void drift(double days, double honest);
  /// One more audit. `honest`: the prior's mass for who begins anew.
  void observe(protocol::Outcome outcome, double honest);

  /// Probability that it does not cheat now.
  double honest() const;
  /// Expected cheating rate.
  double mean() const;
  /// P(rate <= x): has an atom of honest() at 0.
  double cdf(double x) const;
  /// The smallest x with cdf(x) >= q, to 2^-40. 0 <= q < 1.
  double quantile(double q) const;

  struct Interval {
    double low = 0;
    double high = 0;
  };
  /// Central: as much mass lies below as above. 0 < mass < 1.
  Interval interval(double mass) const;

 private:
  /// What is believed if the last change was before the first of these audits.
  struct Run {
    double weight = 1;
    double honest = 1;    // within this run
    double matches = 0;   // audits since
    double failures = 0;  // mismatches and openings refused
  };
  void turn(double probability, double honest);
  void bound();

  Prior prior_;
  std::vector<Run> runs_;  // the latest change first; weights add up to 1
};

}  // namespace commensal::risk
