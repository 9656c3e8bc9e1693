// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/amount.hpp>

namespace commensal::ticket {

// A ticket wins when its draw, 256 bits, is below the threshold T: with probability T / 2^256. All
// that is paid is computed from T in integers, rounded as said; doubles are for people.
// T = 2^256 - 1 stands for certainty (it misses it by 2^-256). Pure functions.

using protocol::Amount;

/// What every ticket wins.
core::Digest certain_threshold();

/// floor(price * 2^256 / face): the threshold at which a ticket of `face` is worth `price` a piece.
/// A price of at least `face` gives certainty. Error: kInvalidArgument where `face` is 0.
core::Result<core::Digest> threshold_for(const Amount& price, const Amount& face);

/// floor(p * 2^256), exact for the double given; certainty from 1 on. Error: kInvalidArgument
/// unless 0 <= p <= 1.
core::Result<core::Digest> threshold_of(double probability);
/// To the nearest double or the one below.
double probability_of(const core::Digest& threshold);

/// ceil(face * T / 2^256): what a ticket is worth before its draw, in whole units. It is what
/// threshold_for was given: expected_value(F, threshold_for(v, F)) == v for v <= F.
Amount expected_value(const Amount& face, const core::Digest& threshold);
/// face^2 p (1 - p), in squared units.
double variance(const Amount& face, const core::Digest& threshold);
/// 1 / p: tickets until the first winner, on average; infinite where T is 0.
double tickets_per_win(const core::Digest& threshold);

double to_double(const Amount& amount);

/// The most of so many tickets that win at once, but for one time in a thousand million: winners
/// are binomial, so six deviations beyond their mean, and one more; never more than all.
std::uint64_t winners_most(std::uint64_t tickets, double probability);
/// What these take out of an escrow, each the face value and its auditor's fee. Error:
/// kInvalidArgument (beyond 128 bits).
core::Result<Amount> winners_cover(std::uint64_t tickets, double probability, const Amount& face,
                                   const Amount& fee);

}  // namespace commensal::ticket
