// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <commensal/collocation/governor/governor.hpp>
#include <functional>
#include <numbers>
#include <optional>
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
  double bend = 1;                               // ... at a level: slope * level ^ bend
  double lag = 0;                                // share that it costs late, at full speed
  double lag_s = 60;                             // ... with this time constant
  OfTime reported = [](double) { return 1.0; };  // times the rate: what the probe says of it
  std::function<bool(double now_s)> speaks = [](double) { return true; };
  std::function<bool(double now_s, double level)> throttled = [](double, double) { return false; };
};

/// Losses are shares of what the host would have done alone.
struct Outcome {
  double lost = 0;                 // over the whole run
  double worst_minute = 0;         // ... and over the worst minute
  double worst_hour = 0;           // ... and over the worst whole hour by the clock
  long hours = 0;                  // whole ones
  long hours_kept = 0;             // that lost no more than is promised
  long hours_shown = 0;            // of which the governor said so at their end
  double harvest = 0;              // mean level of the guest
  std::vector<double> half_hours;  // ... of each
  Status last;
  Carried carried;
};

/// The host, the probe that watches it and the governor that listens, step by step.
class Simulation {
 public:
  Simulation(const SyntheticHost& host, std::uint64_t seed, const Rules& rules,
             const Carried& carried = {})
      : host_(host), rules_(rules), rng_(seed), dice_(seed, 1), governor_(rules, dice_, carried) {}

  bool is_eager = false;  // the governor is asked at every step, not when it says

  /// `seconds` of it. What the host loses is counted from the truth, without noise, not from what
  /// the probe says.
  Outcome run(double seconds) {
    for (int i = 1; i * kStep <= seconds; ++i) {
      now_s_ = i * kStep;
      work();
      outcome_.harvest += level_ * kStep / seconds;
      const auto half_hour = static_cast<std::size_t>((now_s_ - kStep / 2) / 1800);
      outcome_.half_hours.resize(half_hour + 1);
      outcome_.half_hours[half_hour] += level_ * kStep / 1800;
      const auto sample = probe();
      if (sample || is_eager || now_s_ >= governor_.next_s()) {
        level_ = governor_.tick(now_s_, sample);
      }
      if (governor_.status().hour_s > 3590) is_shown_ = governor_.status().is_shown;
      outcome_.worst_minute = std::max(outcome_.worst_minute, lost_share(60));
      if (i % kHourSteps == 0) end_hour();
    }
    outcome_.lost = lost_.back() / alone_.back();
    outcome_.last = governor_.status();
    outcome_.carried = governor_.carried();
    return outcome_;
  }

 private:
  static constexpr double kStep = 0.05;
  static constexpr int kHourSteps = 72'000;

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
    late_ += (1 - std::exp(-kStep / host_.lag_s)) * (level_ - late_);
    const double lost = alone * std::min(1.0, host_.slope(now_s_) * std::pow(level_, host_.bend) +
                                                  host_.lag * late_);
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

  void end_hour() {
    const double lost = lost_share(3600);
    outcome_.worst_hour = std::max(outcome_.worst_hour, lost);
    ++outcome_.hours;
    outcome_.hours_shown += is_shown_ ? 1 : 0;
    outcome_.hours_kept += lost <= rules_.promise ? 1 : 0;
  }

  const SyntheticHost& host_;
  Rules rules_;
  core::CounterRng rng_;
  core::CounterRng dice_;
  Governor governor_;
  double now_s_ = 0;
  double noise_ = 0;
  double level_ = 0;
  double late_ = 0;
  bool is_shown_ = false;
  double said_s_ = 0;
  std::vector<double> alone_{0};  // work of all steps so far, had there been no guest,
  std::vector<double> lost_{0};   // ... what the guest cost of it,
  std::vector<double> work_{0};   // ... and what was done, with noise
  Outcome outcome_;
};

inline Outcome run(const SyntheticHost& host, double seconds, std::uint64_t seed,
                   const Carried& carried = {}) {
  return Simulation(host, seed, {}, carried).run(seconds);
}

}  // namespace commensal::governor::testing
