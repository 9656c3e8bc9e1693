// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/lab/bench/collocation/drawn.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <functional>
#include <limits>
#include <numeric>

namespace commensal::lab::bench::collocation {
namespace {

using List = std::vector<double>;

constexpr int kRedraws = 1000;
constexpr std::size_t kLeastOfAKind = 3;  // less say nothing
constexpr std::size_t kBeside = 4;        // stretches to each side
constexpr double kTail = 0.99;

bool coin(core::Rng& rng) { return rng.next_unit() < 0.5; }

/// Where 95 % of `shifts`, which chance alone made, leave the truth.
Share95 around(double mean, const List& shifts) {
  return {mean, mean - quantile(shifts, 0.975), mean - quantile(shifts, 0.025)};
}

bool has_enough(const Stretches& slices) {
  std::size_t let = 0, stopped = 0;
  for (const auto& slice : slices) {
    for (const Epoch& epoch : slice) ++(epoch.is_let ? let : stopped);
  }
  return let >= kLeastOfAKind && stopped >= kLeastOfAKind;
}

/// Each value less the mean of its neighbours: a straight drift goes, a step is seen once.
List against_neighbours(const List& values) {
  List made(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i - std::min(i, kBeside);
    const std::size_t end = std::min(values.size(), i + kBeside + 1);
    const double sum =
        std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                        values.begin() + static_cast<std::ptrdiff_t>(end), -values[i]);
    const auto others = static_cast<double>(end - begin - 1);
    made[i] = others > 0 ? values[i] - sum / others : 0;
  }
  return made;
}

/// One slice's stretches as numbers: the rate over the slice's mean, and 1 with the guest.
struct Series {
  List rate, let;
};

/// What the guest adds to the rate, by least squares of what the neighbours leave of it. NaN: the
/// coins were all alike.
double effect_of(const std::vector<Series>& all) {
  double product = 0, square = 0;
  for (const Series& one : all) {
    const List rate = against_neighbours(one.rate), let = against_neighbours(one.let);
    product = std::inner_product(let.begin(), let.end(), rate.begin(), product);
    square = std::inner_product(let.begin(), let.end(), let.begin(), square);
  }
  return square > 0 ? product / square : std::numeric_limits<double>::quiet_NaN();
}

std::vector<Series> series_of(const Stretches& slices) {
  std::vector<Series> made;
  for (const auto& slice : slices) {
    Series one;
    for (const Epoch& epoch : slice) {
      if (!(epoch.work_s > 0)) continue;  // a server that nobody asked anything
      one.rate.push_back(epoch.work / epoch.work_s);
      one.let.push_back(epoch.is_let ? 1 : 0);
    }
    const double mean = std::accumulate(one.rate.begin(), one.rate.end(), 0.0) /
                        static_cast<double>(one.rate.size());
    if (!(mean > 0)) continue;  // the host stood still
    for (double& rate : one.rate) rate /= mean;
    made.push_back(std::move(one));
  }
  return made;
}

/// The latencies of stretches, the longest first: a tail is found by walking down.
class Tails {
 public:
  /// `which` of a stretch; those with the guest times `scale`.
  Tails(const std::vector<const Epoch*>& stretches, List Epoch::*which, double scale) {
    for (std::size_t i = 0; i < stretches.size(); ++i) {
      const Epoch& epoch = *stretches[i];
      counts_.push_back((epoch.*which).size());
      for (const double ms : epoch.*which) sorted_.push_back({epoch.is_let ? ms * scale : ms, i});
    }
    std::ranges::sort(sorted_, std::greater(), &Late::ms);
  }

  /// Logarithm of the tail of the stretches that are `let` over that of the others; NaN where there
  /// is nothing of one.
  double log_ratio(const std::vector<bool>& let) const {
    std::array<std::size_t, 2> left{};
    for (std::size_t i = 0; i < counts_.size(); ++i) left[let[i] ? 1 : 0] += counts_[i];
    std::array<double, 2> tail{};
    for (std::size_t& count : left) {  // from how many there are to the tail's place from the top
      const auto rank = static_cast<std::size_t>(std::ceil(kTail * static_cast<double>(count)));
      count = count - rank + 1;
    }
    for (auto it = sorted_.begin(); it != sorted_.end() && (left[0] > 0 || left[1] > 0); ++it) {
      const std::size_t kind = let[it->stretch] ? 1 : 0;
      if (left[kind] > 0 && --left[kind] == 0) tail[kind] = it->ms;
    }
    return tail[0] > 0 && tail[1] > 0 ? std::log(tail[1] / tail[0])
                                      : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  struct Late {
    double ms;
    std::size_t stretch;
  };
  std::vector<std::size_t> counts_;
  std::vector<Late> sorted_;
};

}  // namespace

std::optional<Share95> kept_drawn(const Stretches& slices, core::Rng& rng) {
  if (!has_enough(slices)) return std::nullopt;
  std::vector<Series> all = series_of(slices);
  const double effect = effect_of(all);
  if (!std::isfinite(effect)) return std::nullopt;
  std::size_t count = 0;
  double let = 0;
  for (Series& one : all) {
    count += one.rate.size();
    let = std::accumulate(one.let.begin(), one.let.end(), let);
    for (std::size_t i = 0; i < one.rate.size(); ++i) one.rate[i] -= effect * one.let[i];
  }
  const double freedom = static_cast<double>(count) - static_cast<double>(all.size()) - 1;
  if (freedom < 1) return std::nullopt;
  // What is left of the noise after a fit is a little less than the noise.
  const double widen = std::sqrt(static_cast<double>(count) / freedom);
  List shifts;
  for (int i = 0; i < kRedraws; ++i) {
    for (Series& one : all) {
      for (double& value : one.let) value = coin(rng) ? 1 : 0;
    }
    const double shift = effect_of(all);
    if (std::isfinite(shift)) shifts.push_back(widen * shift);
  }
  if (shifts.empty()) return std::nullopt;
  // From shares of the mean to shares of the rate without the guest.
  const double share = let / static_cast<double>(count);
  const auto kept = [share](double added) { return 1 + added / (1 - share * added); };
  const Share95 made = around(effect, shifts);
  return Share95{kept(made.mean), kept(made.low), kept(made.high)};
}

std::optional<Share95> p99_drawn(const Stretches& slices, core::Rng& rng) {
  if (!has_enough(slices)) return std::nullopt;
  std::vector<const Epoch*> stretches;
  std::vector<bool> let;
  for (const auto& slice : slices) {
    for (const Epoch& epoch : slice) {
      stretches.push_back(&epoch);
      let.push_back(epoch.is_let);
    }
  }
  // What bursts alone make of it; 0 of a host that does not tell.
  const Tails unhindered(stretches, &Epoch::unhindered_ms, 1);
  const auto by_bursts = [&] {
    const double ratio = unhindered.log_ratio(let);
    return std::isfinite(ratio) ? ratio : 0;
  };
  const double found = Tails(stretches, &Epoch::latencies_ms, 1).log_ratio(let) - by_bursts();
  if (!std::isfinite(found)) return std::nullopt;
  // As if the guest had done nothing.
  const Tails alike(stretches, &Epoch::latencies_ms, std::exp(-found));
  List shifts;
  for (int i = 0; i < kRedraws; ++i) {
    for (std::size_t at = 0; at < let.size(); ++at) let[at] = coin(rng);
    const double shift = alike.log_ratio(let) - by_bursts();
    if (std::isfinite(shift)) shifts.push_back(shift);
  }
  if (shifts.empty()) return std::nullopt;
  const Share95 made = around(found, shifts);
  return Share95{std::exp(made.mean), std::exp(made.low), std::exp(made.high)};
}

}  // namespace commensal::lab::bench::collocation
