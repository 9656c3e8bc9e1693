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
constexpr double kEvidence = 2;      // of the second opinion: logarithm of the odds
constexpr double kChangedSd = 0.05;  // of a cost that has changed
constexpr int kSecondLasts = 300;    // epochs with the guest

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
  // By what they were: what they have aged by is each one's own.
  const double both = learnt ? learnt->correlation * learnt->cost_sd * learnt->lag_sd : 0;
  for (std::size_t i = 0; i < kDrifts.size(); ++i) {
    Filter& filter = opinion_.filters[i];
    filter.drift = kDrifts[i];
    filter.state = {0, cost.mean, lag.mean};
    filter.variance[1] = {0, cost.sd * cost.sd, both};
    filter.variance[2] = {0, both, lag.sd * lag.sd};
  }
  second_ = opinion_;
  second_.doubt(kChangedSd);
}

void Belief::Opinion::doubt(double cost_sd) {
  for (Filter& filter : filters) {
    filter.variance[1][1] = std::max(filter.variance[1][1], cost_sd * cost_sd);
  }
}

Belief::Share Belief::share(std::size_t i) const {
  const Filter& filter = opinion_.now();
  return {filter.state[i], std::sqrt(std::max(filter.variance[i][i], 0.0))};
}

Learnt Belief::learnt() const {
  const Share cost = share(1), lag = share(2);
  const double product = cost.sd * lag.sd;
  const double both = product > 0 ? opinion_.now().variance[1][2] / product : 0;
  return {cost.mean, cost.sd, lag.mean, lag.sd, std::clamp(both, -1.0, 1.0), noise_, 0};
}

Belief::Share Belief::all() const {
  const Filter& filter = opinion_.now();
  const auto& v = filter.variance;
  return {filter.state[1] + filter.state[2],
          std::sqrt(std::max(v[1][1] + v[2][2] + 2 * v[1][2], 0.0))};
}

double Belief::rate(const Exposure& guest) const {
  const Filter& filter = opinion_.now();
  const double left = 1 - guest.level * filter.state[1] - guest.lately * filter.state[2];
  return filter.rate * std::max(left, 0.01);
}

double Belief::deviation(double seconds) const {
  return std::sqrt(noise_ / seconds + std::max(opinion_.now().variance[0][0], 0.0));
}

void Belief::settle(double rate, double seconds) {
  for (Opinion* opinion : {&opinion_, &second_}) {
    for (Filter& filter : opinion->filters) {
      filter.rate = rate;
      for (std::size_t i = 0; i < 3; ++i) filter.variance[0][i] = filter.variance[i][0] = 0;
      filter.variance[0][0] = noise_ / seconds;
    }
  }
}

double Belief::update(Filter& filter, double rate, double seconds, double elapsed_s,
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
  return -(wrong * wrong / spread + std::log(spread)) / 2;
}

void Belief::update(Opinion& opinion, double rate, double seconds, double elapsed_s,
                    const Exposure& guest, double limit) const {
  for (std::size_t i = 0; i < opinion.filters.size(); ++i) {
    const double likelihood = update(opinion.filters[i], rate, seconds, elapsed_s, guest, limit);
    if (i == opinion.best) opinion.likelihood += likelihood;
  }
  opinion.best = static_cast<std::size_t>(
      std::ranges::min_element(opinion.filters, {}, &Filter::error) - opinion.filters.begin());
}

void Belief::compare(bool is_on) {
  compared_ += is_on ? 1 : 0;
  const bool is_better = second_.likelihood > opinion_.likelihood + kEvidence;
  if (is_better) opinion_ = second_;
  if (!is_better && compared_ < kSecondLasts) return;
  compared_ = 0;
  opinion_.likelihood = 0;
  second_ = opinion_;
  second_.doubt(kChangedSd);
}

bool Belief::observe(double rate, double seconds, double elapsed_s, const Exposure& guest,
                     bool is_sure) {
  if (count_++ == 0) return settle(rate, seconds), false;
  const double wrong = (rate - this->rate(guest)) / this->rate();
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
  // What was believed may be as wrong as what is seen.
  if (is_sure) opinion_.doubt(std::abs(wrong) / guest.level);
  for (Opinion* opinion : {&opinion_, &second_}) {
    update(*opinion, rate, seconds, elapsed_s, guest, limit);
  }
  compare(guest.level > 0);
  return false;
}

}  // namespace commensal::governor
