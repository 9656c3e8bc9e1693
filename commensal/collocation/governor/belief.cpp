// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/collocation/governor/belief.hpp>
#include <utility>

namespace commensal::governor {
namespace {

constexpr double kJumpSd = 5;
constexpr double kMemory = 60;  // epochs, for noise and errors
constexpr double kFirst = 5;    // so many are taken as they are
constexpr double kTenMinutes = 600;
constexpr std::array<double, 3> kDrifts = {0.0005, 0.02, 0.5};
constexpr double kDoubtSd = 8;  // small surprises of one sign, each less half a deviation
constexpr double kSurpriseSd = 3;
constexpr double kReopened = 0.005;  // the least deviation then

/// What was learnt is a little older than its deviation says.
double aged(double sd, double mean) {
  constexpr double kShare = 0.1, kLeast = 0.0003;
  return std::sqrt(sd * sd + kShare * kShare * mean * mean + kLeast * kLeast);
}

}  // namespace

Belief::Belief(const Rules& rules, const std::optional<Learnt>& learnt)
    : rules_(rules), noise_(learnt ? learnt->noise : rules.first_noise * rules.first_noise) {
  const Share cost = learnt ? Share{learnt->cost, aged(learnt->cost_sd, learnt->cost)}
                            : Share{rules.first_cost, rules.first_cost_sd};
  const Share lag =
      learnt ? Share{learnt->lag, aged(learnt->lag_sd, learnt->lag)} : Share{0, rules.lag_sd};
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    filters_[i].drift = kDrifts[i];
    filters_[i].state = {0, cost.mean, lag.mean};
    filters_[i].variance[1][1] = cost.sd * cost.sd;
    filters_[i].variance[2][2] = lag.sd * lag.sd;
  }
}

Belief::Share Belief::share(std::size_t i) const {
  const Filter& filter = filters_[best_];
  return {filter.state[i], std::sqrt(std::max(filter.variance[i][i], 0.0))};
}

Belief::Share Belief::all() const {
  const Filter& filter = filters_[best_];
  const auto& v = filter.variance;
  return {filter.state[1] + filter.state[2],
          std::sqrt(std::max(v[1][1] + v[2][2] + 2 * v[1][2], 0.0))};
}

double Belief::rate(const Exposure& guest) const {
  const Filter& filter = filters_[best_];
  const double left = 1 - guest.level * filter.state[1] - guest.lately * filter.state[2];
  return filter.rate * std::max(left, 0.01);
}

double Belief::deviation(double seconds) const {
  return std::sqrt(noise_ / seconds + std::max(filters_[best_].variance[0][0], 0.0));
}

void Belief::settle(double rate, double seconds) {
  for (Filter& filter : filters_) {
    filter.rate = rate;
    for (std::size_t i = 0; i < 3; ++i) filter.variance[0][i] = filter.variance[i][0] = 0;
    filter.variance[0][0] = noise_ / seconds;
  }
}

void Belief::update(Filter& filter, double rate, double seconds, double elapsed_s,
                    const Exposure& guest, double limit) const {
  const double ten_minutes = elapsed_s / kTenMinutes;
  auto& v = filter.variance;
  const double noise = noise_ / seconds;
  v[0][0] += filter.drift * noise;
  v[1][1] += rules_.cost_drift * rules_.cost_drift * ten_minutes;
  v[2][2] += rules_.lag_drift * rules_.lag_drift * ten_minutes;
  const double left = 1 - guest.level * filter.state[1] - guest.lately * filter.state[2];
  const Vector seen = {left, -guest.level, -guest.lately};
  Vector gain{};
  double spread = noise;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) gain[i] += v[i][j] * seen[j];
    spread += seen[i] * gain[i];
  }
  const double wrong = std::clamp(rate / filter.rate - left, -limit, limit);
  for (std::size_t i = 0; i < 3; ++i) filter.state[i] += gain[i] / spread * wrong;
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) v[i][j] -= gain[i] * gain[j] / spread;
  }
  filter.rate *= 1 + std::exchange(filter.state[0], 0);
  filter.error +=
      (wrong * wrong * seconds - filter.error) / std::min(static_cast<double>(count_), kMemory);
}

bool Belief::observe(double rate, double seconds, double elapsed_s, const Exposure& guest,
                     bool is_sure) {
  if (count_++ == 0) return settle(rate, seconds), false;
  const double wrong = rate / filters_[best_].rate - this->rate(guest) / filters_[best_].rate;
  const bool is_first = static_cast<double>(count_) <= kFirst;
  const double limit = is_first || is_sure ? 1 : kJumpSd * deviation(seconds);
  const double known = std::clamp(wrong, -limit, limit);
  if (!is_sure) {
    // What is not known of the guest's cost is no noise of the host.
    const double memory = std::min(static_cast<double>(count_), kMemory);
    const double expected = std::pow(deviation(seconds), 2);
    const double unknown = std::pow(guest.level * cost().sd + guest.lately * lag().sd, 2);
    noise_ += (known * known * seconds * expected / (expected + unknown) - noise_) / memory;
  }
  if (guest.level <= 0 && !is_first && std::abs(wrong) > limit) {
    const double before = std::exchange(jumped_to_, rate);
    if (before > 0 && std::abs(rate / before - 1) < limit) {
      settle((rate + before) / 2, seconds);
      jumped_to_ = 0;
      return true;
    }
    return false;
  }
  if (guest.level <= 0) jumped_to_ = 0;
  if (guest.level > 0) {
    const double sd = std::hypot(deviation(seconds), guest.level * cost().sd);
    const double surprise = std::clamp(-known / sd, -kSurpriseSd, kSurpriseSd);
    surprises_ = std::max(0.0, surprises_ + surprise - 0.5);
  }
  const bool is_doubted = surprises_ > kDoubtSd || is_sure;
  if (is_doubted) surprises_ = 0;
  for (Filter& filter : filters_) {
    if (is_doubted) {  // what was believed may be as wrong as what is seen
      const double sd =
          is_sure ? std::abs(wrong) / guest.level : std::max(filter.state[1] / 2, kReopened);
      filter.variance[1][1] = std::max(filter.variance[1][1], sd * sd);
    }
    update(filter, rate, seconds, elapsed_s, guest, limit);
  }
  best_ = static_cast<std::size_t>(std::ranges::min_element(filters_, {}, &Filter::error) -
                                   filters_.begin());
  return false;
}

}  // namespace commensal::governor
