// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

/// What is made of repeated timings on a machine that others use too. Two sides run in turn, block
/// after block; block i of one is the neighbour of block i of the other.
///
/// A repeat is rejected as disturbed if
/// - the process had the processor for too small a share of it: on one thread for less than 97 % of
///   the time, on more threads for less than 90 % of what is usual (the median) for its side, since
///   threads also wait for each other; or
/// - it took more than 1.25 times its side's median.
/// Where the first clause would reject more than two thirds, the machine is busy all the time: then
/// only the second one is used, and the side is marked as busy.
namespace commensal::lab::bench {

struct Timing {
  double seconds = 0;
  double cpu_seconds = 0;  // of the whole process
  double language_s = 0;   // that were taken off, of a runtime driven from another language
};

struct Side {
  double median_s = 0;                         // of the repeats kept
  std::vector<std::optional<double>> block_s;  // medians; none where all was rejected
  int repeats = 0;
  int rejected = 0;
  bool busy = false;
  double language_s = 0;  // median of what was taken off a run, as Timing has it
};

/// `blocks` must not be empty, nor any of them.
Side settle(const std::vector<std::vector<Timing>>& blocks, int threads);

struct Ratio {
  double value = 0;          // of the medians
  double low = 0, high = 0;  // quartiles of the ratios of neighbouring blocks
  int pairs = 0;             // of them
  /// Of fewer than three quartiles say nothing.
  bool steady() const { return pairs >= 3 && high <= 1.1 * low; }
};

/// `ours` / `theirs`, which have as many blocks.
Ratio ratio_of(const Side& ours, const Side& theirs);

/// What is to be said of rows that rest on so few pairs of blocks that their quartiles are none, or
/// nearly so; empty: nothing.
std::string few_pairs_note(std::span<const Ratio> rows);

/// Linear between the two nearest; `values` in any order, not empty, 0 <= share <= 1.
double quantile(std::vector<double> values, double share);
double median(std::vector<double> values);
/// Of positive numbers; 1 for none.
double geometric_mean(std::span<const double> values);

}  // namespace commensal::lab::bench
