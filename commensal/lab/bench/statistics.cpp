// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/base/core/check.hpp>
#include <commensal/lab/bench/statistics.hpp>

namespace commensal::lab::bench {
namespace {

constexpr double kShareOfOneThread = 0.97;
constexpr double kShareOfUsual = 0.9;
constexpr double kSlowest = 1.25;
constexpr double kBusy = 2.0 / 3;

using Blocks = std::vector<std::vector<Timing>>;

template <class Of>
std::vector<double> collect(const Blocks& blocks, Of of) {
  std::vector<double> values;
  for (const auto& block : blocks) {
    for (const Timing& one : block) values.push_back(of(one));
  }
  return values;
}

// Where more was taken off than there was, nothing is known of it.
double share_of(const Timing& one) {
  return one.seconds <= 0 ? 1 : one.cpu_seconds / std::max(one.seconds, 1e-9);
}

// The least share of the processor that a repeat must have had; 0 on a busy machine.
double least_share(const Blocks& blocks, int threads) {
  const std::vector<double> shares = collect(blocks, share_of);
  const double least = threads == 1 ? kShareOfOneThread : kShareOfUsual * median(shares);
  const auto under = std::ranges::count_if(shares, [least](double s) { return s < least; });
  return static_cast<double>(under) > kBusy * static_cast<double>(shares.size()) ? 0 : least;
}

Blocks kept_of(const Blocks& blocks, double least, double most_s) {
  Blocks kept(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (const Timing& one : blocks[i]) {
      if (share_of(one) >= least && one.seconds <= most_s) kept[i].push_back(one);
    }
  }
  return kept;
}

double seconds_of(const Timing& one) { return one.seconds; }

}  // namespace

double quantile(std::vector<double> values, double share) {
  core::check(!values.empty(), "a quantile is of something");
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], place - static_cast<double>(below));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return values.empty() ? 1 : std::exp(sum / static_cast<double>(values.size()));
}

Side settle(const Blocks& blocks, int threads) {
  const double least = least_share(blocks, threads);
  Blocks kept = kept_of(blocks, least, INFINITY);
  const double usual = median(collect(kept, seconds_of));
  kept = kept_of(kept, least, usual + (kSlowest - 1) * std::abs(usual));
  Side side;
  side.busy = least == 0;
  const std::vector<double> all = collect(kept, seconds_of);
  side.median_s = median(all);
  side.language_s = median(collect(kept, [](const Timing& one) { return one.language_s; }));
  side.repeats = static_cast<int>(collect(blocks, seconds_of).size());
  side.rejected = side.repeats - static_cast<int>(all.size());
  for (const auto& block : kept) {
    side.block_s.push_back(block.empty() ? std::nullopt
                                         : std::optional(median(collect({block}, seconds_of))));
  }
  return side;
}

Ratio ratio_of(const Side& ours, const Side& theirs) {
  core::check(ours.block_s.size() == theirs.block_s.size(), "sides have the same blocks");
  const double value = ours.median_s / theirs.median_s;
  std::vector<double> pairs;
  for (std::size_t i = 0; i < ours.block_s.size(); ++i) {
    if (ours.block_s[i] && theirs.block_s[i])
      pairs.push_back(*ours.block_s[i] / *theirs.block_s[i]);
  }
  if (pairs.empty()) return {value, value, value};
  return {value, quantile(pairs, 0.25), quantile(pairs, 0.75), static_cast<int>(pairs.size())};
}

std::string few_pairs_note(std::span<const Ratio> rows) {
  constexpr int kFew = 4;
  const auto few = std::ranges::count_if(rows, [](const Ratio& row) { return row.pairs < kFew; });
  if (few == 0) return "";
  const int least = std::ranges::min(rows, {}, &Ratio::pairs).pairs;
  return fmt::format(
      "{} of {} rows rest on fewer than {} blocks of each side (--repeats), the least on {}{}", few,
      rows.size(), kFew, least,
      least >= 3   ? ""
      : least == 2 ? ": their timing's spread is not known"
                   : ": their timing's spread is not known, and ours went first");
}

}  // namespace commensal::lab::bench
