// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/collocation/laws.hpp>

namespace commensal::lab::bench::collocation {
namespace {

// TGS, all as its code has them.
constexpr double kWindowS = 5;
constexpr std::size_t kWindows = 5;
constexpr int kProfileWindows = 5;  // 25 s with the guest off
constexpr double kSetPoint = 0.03;
constexpr double kMuch = 0.09;
constexpr double kTooMuch = 0.12;
constexpr int kTooMuchWindows = 20;
constexpr double kMoved = 0.2;  // of the reference: it is looked for again
constexpr double kFactor = 1.5;
constexpr double kUp = 0.00025;
constexpr double kDown = 0.08;
constexpr double kFirst = 0.05;  // of full speed; any start does, as it grows by the factor
constexpr double kLeast = 0.001;

/// The largest mean of two neighbours.
double largest_pair(const std::deque<double>& windows) {
  double most = windows.size() == 1 ? windows.front() : 0;
  for (std::size_t i = 1; i < windows.size(); ++i)
    most = std::max(most, (windows[i - 1] + windows[i]) / 2);
  return most;
}

}  // namespace

double Suppressor::level(double others) const {
  return std::clamp((kShare * processors_ - others) / guest_threads_, 0.0, 1.0);
}

double Tgs::tick(double now_s, const std::optional<probe::RateSample>& sample) {
  if (!begin_s_) begin_s_ = now_s;
  if (sample && sample->at_s - sample->over_s >= *begin_s_) {
    sum_ += sample->rate * sample->over_s;
    seconds_ += sample->over_s;
  }
  if (now_s - *begin_s_ >= kWindowS && seconds_ > 0) {
    take(sum_ / seconds_);
    begin_s_ = now_s;
    sum_ = seconds_ = 0;
  }
  return phase_ == Phase::kProfile ? 0 : std::min(1.0, level_);
}

void Tgs::take(double rate) {
  windows_.push_back(rate);
  if (windows_.size() > kWindows) windows_.pop_front();
  if (phase_ == Phase::kProfile) return profile();
  const double seen = largest_pair(windows_);
  if (std::abs(seen - reference_) > kMoved * reference_) {
    phase_ = Phase::kProfile;
    profiled_ = 0;
    windows_.clear();
    return;
  }
  reference_ = std::max(reference_, seen);
  follow(std::abs(rate - reference_) / reference_);
}

void Tgs::profile() {
  if (++profiled_ < kProfileWindows) return;
  reference_ = largest_pair(windows_);
  phase_ = Phase::kSlowStart;
  level_ = kFirst;
}

void Tgs::follow(double error) {
  missed_ = error >= kTooMuch ? missed_ + 1 : 0;
  if (missed_ >= kTooMuchWindows) {
    reference_ *= 0.8;
    level_ /= 2;
    missed_ = 0;
  } else if (error >= kMuch) {
    level_ /= 10;
    phase_ = Phase::kSlowStart;
  } else if (phase_ == Phase::kSlowStart) {
    const bool is_fine = error < kSetPoint;
    level_ = is_fine ? level_ * kFactor : level_ / kFactor;
    if (!is_fine) phase_ = Phase::kAvoid;
  } else {
    level_ += error < kSetPoint ? std::max(kUp, kLeast) : -std::max(kDown * level_, kLeast);
  }
  level_ = std::clamp(level_, kLeast, 1.0);
}

}  // namespace commensal::lab::bench::collocation
