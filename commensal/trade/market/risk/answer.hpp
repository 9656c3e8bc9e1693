// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <commensal/trade/market/risk/figure.hpp>
#include <vector>

namespace commensal::risk {

/// A cheaper predictor's word on the answer: a smaller model, a quantised one, an older answer.
struct Prediction {
  bool agrees = false;
  double agrees_if_right = 0.9;  // measured on audited answers
  double agrees_if_wrong = 0.1;  // likewise

  core::Result<void> validity() const;
};

/// Another provider computed the same.
struct Replica {
  bool agrees = false;
  double cheating_rate = 0;  // of that provider: its posterior mean
  double collusion = 0.01;   // probability that a wrong replica is wrong in the same way

  core::Result<void> validity() const;
};

/// Somebody else, or the provider itself, has money on the answer: `on_right` against `on_wrong`
/// says that to them P(right) >= on_right / (on_right + on_wrong).
struct Bet {
  double on_right = 1;
  double on_wrong = 1;
  double trust = 0.5;  // weight in the logarithmic pool; all bets together count for at most 1

  core::Result<void> validity() const;
};

/// What is known of one answer beside its provider's record.
struct Evidence {
  std::vector<Prediction> predictions;
  std::vector<Replica> replicas;
  std::vector<Bet> bets;

  /// Error: kInvalidArgument, naming the item, the field and its range; kResourceExhausted beyond
  /// kEvidenceMax items of a kind.
  core::Result<void> validity() const;
};
inline constexpr std::size_t kEvidenceMax = 256;

/// P(Y = F(X)): the record's odds times one Bayes factor for each piece of evidence, each a term.
/// Pieces count as independent given the truth. Bets are pooled (Genest, Zidek 1986): odds =
/// odds of the rest^(1 - w) x product of bet odds^w_i, w the sum of the trusts.
/// Precondition: the evidence is valid and 0 <= cheating_rate <= 1.
Figure probability_right(double cheating_rate, const Evidence& evidence);

}  // namespace commensal::risk
