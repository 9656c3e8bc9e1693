// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <commensal/collocation/governor/governor.hpp>
#include <functional>
#include <numbers>
#include <vector>

/// A host that is made up, with a guest beside it: for tests.
namespace commensal::governor::testing {

struct SyntheticHost {
  using OfTime = std::function<double(double now_s)>;

  double noise = 0.01;                           // of the rate over one second, relative
  double memory_s = 0.2;                         // correlation time of the noise
  double probe_s = 0.25;                         // how often the probe speaks
  double averaging_s = 0;                        // over which it averages; 0: since it last spoke
  double resolution = 0;                         // the rate it says is a multiple of this
  OfTime alone = [](double) { return 1000.0; };  // the rate without a guest
  OfTime slope = [](double) { return 0.05; };    // share that a guest at full speed costs
  OfTime reported = [](double) { return 1.0; };  // times the rate: what the probe says of it
  std::function<bool(double now_s)> speaks = [](double) { return true; };
  std::function<bool(double now_s, double level)> throttled = [](double, double) { return false; };
};

struct Outcome {
  double lost = 0;          // share of what the host would have done alone, over the whole run
  double worst_minute = 0;  // ... and over the worst minute
  double worst_window = 0;  // ... and over the worst stretch as long as W was then
  double harvest = 0;       // mean level of the guest
  double late_harvest = 0;  // ... in the second half
  Status last;
};

/// The host, the probe that watches it and the governor that listens, step by step.
class Simulation {
 public:
  Simulation(const SyntheticHost& host, std::uint64_t seed, const Rules& rules)
      : host_(host), rules_(rules), rng_(seed), dice_(seed, 1), governor_(rules, dice_) {}

  /// `seconds` of it. What the host loses is counted from the truth, without noise, not from what
  /// the probe says.
  Outcome run(double seconds) {
    for (int i = 1; i * kStep <= seconds; ++i) {
      now_s_ = i * kStep;
      work();
      outcome_.harvest += level_ * kStep / seconds;
      if (now_s_ > seconds / 2) outcome_.late_harvest += level_ * kStep / (seconds / 2);
      level_ = governor_.tick(now_s_, probe());
      measure();
    }
    outcome_.lost = lost_.back() / alone_.back();
    outcome_.last = governor_.status();
    return outcome_;
  }

 private:
  static constexpr double kStep = 0.05;

  /// By Box and Muller.
  double gaussian() {
    const double radius = std::sqrt(-2 * std::log(1 - rng_.next_unit()));
    return radius * std::cos(2 * std::numbers::pi * rng_.next_unit());
  }

  void work() {
    // Noise of first order whose mean over T >> memory_s scatters by noise / sqrt(T).
    const double keep = std::exp(-kStep / host_.memory_s);
    const double spread = host_.noise * std::sqrt((1 - keep) / (1 + keep) / kStep);
    noise_ = keep * noise_ + std::sqrt(1 - keep * keep) * spread * gaussian();
    const double alone = host_.alone(now_s_);
    const double lost = alone * std::min(1.0, host_.slope(now_s_) * level_);
    alone_.push_back(alone_.back() + alone * kStep);
    lost_.push_back(lost_.back() + lost * kStep);
    work_.push_back(work_.back() + std::max(0.0, alone - lost) * (1 + noise_) * kStep);
  }

  std::optional<probe::RateSample> probe() {
    if (now_s_ - said_s_ < host_.probe_s - 1e-9) return std::nullopt;
    const double over_s = host_.averaging_s > 0 ? host_.averaging_s : now_s_ - said_s_;
    said_s_ = now_s_;
    const auto back = static_cast<std::size_t>(std::lround(over_s / kStep));
    if (!host_.speaks(now_s_) || back >= work_.size()) return std::nullopt;
    const double done = work_.back() - work_[work_.size() - 1 - back];
    double rate = done / over_s * host_.reported(now_s_);
    if (host_.resolution > 0) rate = std::round(rate / host_.resolution) * host_.resolution;
    return probe::RateSample{now_s_, over_s, rate, host_.throttled(now_s_, level_)};
  }

  double lost_share(double window_s) const {
    const auto back = static_cast<std::size_t>(window_s / kStep);
    if (back >= lost_.size()) return 0;
    const std::size_t from = lost_.size() - 1 - back;
    return (lost_.back() - lost_[from]) / (alone_.back() - alone_[from]);
  }

  void measure() {
    const double window_s = std::max(rules_.window_min, governor_.status().window_s);
    outcome_.worst_minute = std::max(outcome_.worst_minute, lost_share(60));
    outcome_.worst_window = std::max(outcome_.worst_window, lost_share(window_s));
  }

  const SyntheticHost& host_;
  Rules rules_;
  core::CounterRng rng_;
  core::CounterRng dice_;
  Governor governor_;
  double now_s_ = 0;
  double noise_ = 0;
  double level_ = 0;
  double said_s_ = 0;
  std::vector<double> alone_{0};  // work of all steps so far, had there been no guest,
  std::vector<double> lost_{0};   // ... what the guest cost of it,
  std::vector<double> work_{0};   // ... and what was done, with noise
  Outcome outcome_;
};

inline Outcome run(const SyntheticHost& host, double seconds, std::uint64_t seed) {
  return Simulation(host, seed, {}).run(seconds);
}

}  // namespace commensal::governor::testing
