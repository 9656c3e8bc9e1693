// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/spot/question.hpp>

/// When an audit is sublinear, and when a full replay. Pure functions.
namespace commensal::spot {

/// Multiply-adds that cost as much as hashing one byte: 120 10^9 a second beside 1.5 10^9 bytes a
/// second on one core with AVX-512.
inline constexpr double kWorkPerHashedByte = 80;

/// Full replays keep at least this share of all audits, whatever is configured: sublinear ones
/// leave frauds that are sparse and small.
inline constexpr double kReplayShareMin = 0.1;

struct Mix {
  double replay_share = kReplayShareMin;
};
/// Not below the floor nor above 1; 1 for what is no number.
double replay_share_of(const Mix& mix);

/// What one audit costs the auditor, in multiply-adds and bytes received; the model is at hand as
/// the terms say.
struct Estimate {
  double replay_work = 0, replay_bytes = 0;
  double sublinear_work = 0, sublinear_bytes = 0;
  bool saves() const { return sublinear_work < replay_work && sublinear_bytes < replay_bytes; }
};
/// From the graph's shapes alone.
Estimate estimate(const graph::Graph& graph, const Survey& survey, const Terms& terms);

/// Whether the audit that `seed` is drawn for is a sublinear one: never where that saves nothing,
/// else with probability 1 - replay_share_of(mix).
bool is_sublinear(const Estimate& estimate, const Mix& mix, const Digest& seed);

/// Share of the compute that verification is expected to cost, by the probability of an audit, the
/// cost of a replay and of a sublinear audit as shares of a step.
double expected_share(double audit_probability, const Mix& mix, double replay, double sublinear);

}  // namespace commensal::spot
