// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/estimate.hpp>

namespace commensal::governor {
namespace {

constexpr double kNoiseMemory = 30;  // stretches
constexpr double kNoiseFirst = 5;    // so many are taken as they are
constexpr double kChangedSd = 5;     // beyond it the host changed by itself
constexpr double kSurpriseSd = 4;    // beyond it the guest's cost did
constexpr double kSurprisesSd = 4;   // ... or so many together, each less half a deviation
constexpr double kReopened = 0.01;   // the least deviation then
constexpr double kSlopeLeast = 1e-4;
constexpr double kDriftTime = 600;

}  // namespace

Noise::Noise(const Rules& rules) : c_(rules.first_noise * rules.first_noise), weight_(1) {}

bool Noise::observe(double change, double first_s, double second_s) {
  const double share = 1 / first_s + 1 / second_s;
  const bool is_first = weight_ < kNoiseFirst;
  const bool is_known = is_first || change * change <= kChangedSd * kChangedSd * c_ * share;
  // A jump is let in up to its limit: if the host is like that, jumps soon are its noise.
  const double seen = is_known ? change * change / share : kChangedSd * kChangedSd * c_;
  weight_ = std::min(weight_ + 1, kNoiseMemory);
  c_ += (seen - c_) / weight_;
  return is_known;
}

Slope::Slope(const Rules& rules)
    : mean_(rules.first_slope),
      variance_(rules.slope_sd * rules.slope_sd),
      variance_max_(variance_),
      drift_(rules.slope_drift * rules.slope_drift / kDriftTime) {}

double Slope::sd() const { return std::sqrt(variance_); }

double Slope::high(double deviations) const {
  return std::max(std::max(mean_, 0.0) + deviations * sd(), kSlopeLeast);
}

void Slope::doubt() { variance_ = std::max(variance_, variance_max_); }

void Slope::observe(double level, double loss, double sd, double elapsed_s) {
  variance_ = std::min(variance_ + drift_ * elapsed_s, std::max(variance_, variance_max_));
  const double noise = sd * sd;
  const double surprise = loss - mean_ * level;
  const auto spread = [&] { return level * level * variance_ + noise; };
  if (surprise * surprise > kSurpriseSd * kSurpriseSd * spread()) {
    // The old belief must not drown what is seen now: it may be as wrong as what was seen is far.
    const double wrong = std::clamp(surprise / level, 0.0, 1.0);
    variance_ = std::max(variance_max_, wrong * wrong);
  }
  // A cost that creeps up shows in many small surprises of one sign.
  surprises_ = std::max(0.0, surprises_ + surprise / std::sqrt(spread()) - 0.5);
  if (surprises_ > kSurprisesSd) {
    const double reopened = std::max(mean_ / 2, kReopened);
    variance_ = std::max(variance_, reopened * reopened);
    surprises_ = 0;
  }
  const double gain = level * variance_ / spread();
  mean_ = std::clamp(mean_ + gain * surprise, -kSlopeLeast, 1.0);
  variance_ *= noise / spread();
}

}  // namespace commensal::governor
