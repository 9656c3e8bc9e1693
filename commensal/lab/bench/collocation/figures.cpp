// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <numeric>
#include <thread>

namespace commensal::lab::bench::collocation {
namespace {

using List = std::vector<const Slice*>;

double middle_s(const Slice& slice) { return slice.begin_s + slice.seconds / 2; }

/// Logarithm of the host's rate without a guest at the time of `slice`, as the controls have it;
/// the slice itself, and those of `but_block`, are left out. None: no control is left.
std::optional<double> reference_of(const List& controls, const Slice& slice, int but_block) {
  const Slice* before = nullptr;
  const Slice* after = nullptr;
  for (const Slice* control : controls) {
    if (control == &slice || control->block == but_block) continue;
    if (middle_s(*control) < middle_s(slice)) {
      before = control;
    } else if (after == nullptr) {
      after = control;
    }
  }
  if (before == nullptr && after == nullptr) return std::nullopt;
  if (before == nullptr || after == nullptr)
    return std::log((before != nullptr ? before : after)->host_rate);
  const double share =
      (middle_s(slice) - middle_s(*before)) / (middle_s(*after) - middle_s(*before));
  return (1 - share) * std::log(before->host_rate) + share * std::log(after->host_rate);
}

constexpr int kNoBlock = -1;
constexpr std::size_t kFew = 3;  // less say nothing of their own scatter

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Shares of the reference, one for each slice that has one.
std::vector<double> shares_of(const List& controls, const List& slices, bool without_own_block) {
  std::vector<double> made;
  for (const Slice* slice : slices) {
    const auto reference =
        reference_of(controls, *slice, without_own_block ? slice->block : kNoBlock);
    if (reference) made.push_back(slice->host_rate / std::exp(*reference));
  }
  return made;
}

}  // namespace

Share95 share95(const std::vector<double>& values) { return share95(values, values); }

Share95 share95(const std::vector<double>& values, const std::vector<double>& alike) {
  if (values.empty()) return {};
  const double mean = mean_of(values);
  const auto& scattered = values.size() < kFew ? alike : values;
  if (scattered.size() < 2) return {mean, -INFINITY, INFINITY};
  const double middle = mean_of(scattered);
  double square = 0;
  for (const double value : scattered) square += (value - middle) * (value - middle);
  const auto freedom = static_cast<double>(scattered.size() - 1);
  const double t = boost::math::quantile(boost::math::students_t(freedom), 0.975);
  const double error = t * std::sqrt(square / freedom / static_cast<double>(values.size()));
  return {mean, mean - error, mean + error};
}

namespace {

/// One share for each slice; none if one of them never has the guest rest.
std::vector<double> shares_within(const List& slices) {
  std::vector<double> shares;
  for (const Slice* slice : slices) {
    const auto share = kept_within(*slice);
    if (!share) return {};
    shares.push_back(*share);
  }
  return shares;
}

std::optional<Share95> p99_of(const List& controls, const List& slices) {
  std::vector<double> ratios;
  for (const Slice* slice : slices) {
    const auto own = std::ranges::find(controls, slice->block, &Slice::block);
    if (own != controls.end() && (*own)->p99_ms > 0)
      ratios.push_back(slice->p99_ms / (*own)->p99_ms);
  }
  if (ratios.empty()) return std::nullopt;
  return share95(ratios);
}

double mean_of(const List& slices, double Slice::*member) {
  double sum = 0, seconds = 0;
  for (const Slice* slice : slices) {
    sum += slice->*member * slice->seconds;
    seconds += slice->seconds;
  }
  return sum / seconds;
}

ArmFigures arm_of(std::string_view arm, const List& controls, const List& slices, double alone) {
  ArmFigures made;
  made.arm = arm;
  made.slices = static_cast<int>(slices.size());
  made.kept = share95(shares_of(controls, slices, false), shares_of(controls, controls, false));
  const auto within = arm != kControlArm ? shares_within(slices) : std::vector<double>();
  if (!within.empty()) {
    made.kept_within = share95(within);
    made.worst_within = std::ranges::min(within);
  }
  const auto shares = shares_of(controls, slices, true);
  if (!shares.empty()) made.worst_minute = std::ranges::min(shares);
  made.images_per_s = mean_of(slices, &Slice::images_per_s);
  if (alone > 0) made.harvest = made.images_per_s / alone;
  made.p99 = p99_of(controls, slices);
  made.governor_cpu =
      mean_of(slices, &Slice::governor_cpu) / std::max(1U, std::thread::hardware_concurrency());
  made.said = slices.back()->said;
  return made;
}

List select(const Slices& slices, std::string_view pair, std::string_view arm) {
  List made;
  for (const Slice& slice : slices.slices) {
    if (slice.pair == pair && slice.arm == arm) made.push_back(&slice);
  }
  std::ranges::sort(made, {}, &Slice::begin_s);
  return made;
}

std::optional<std::pair<double, double>> stolen_in(const Slices& slices, const Pair& pair) {
  std::vector<double> shares;
  for (const Slice& slice : slices.slices) {
    if (slice.pair == pair.name && slice.stolen) shares.push_back(*slice.stolen);
  }
  if (shares.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(shares);
  return std::pair(least, most);
}

}  // namespace

const ArmFigures* PairFigures::find(std::string_view arm) const {
  const auto found = std::ranges::find(arms, arm, &ArmFigures::arm);
  return found == arms.end() ? nullptr : &*found;
}

std::vector<PairFigures> figures_of(const Slices& slices) {
  std::vector<PairFigures> made;
  for (const Pair& pair : collocation_pairs()) {
    const List controls = select(slices, pair.name, kControlArm);
    const Alone* const alone = slices.find_alone(pair.name);
    if (controls.empty() || alone == nullptr) continue;
    PairFigures figures{std::string(pair.name), alone->images_per_s, stolen_in(slices, pair), {}};
    for (const Arm& arm : collocation_arms()) {
      const List own = select(slices, pair.name, arm.name);
      if (!own.empty())
        figures.arms.push_back(arm_of(arm.name, controls, own, alone->images_per_s));
    }
    made.push_back(std::move(figures));
  }
  return made;
}

}  // namespace commensal::lab::bench::collocation
