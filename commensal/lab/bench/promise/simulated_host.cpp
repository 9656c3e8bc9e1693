// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/promise/simulated_host.hpp>
#include <numbers>
#include <utility>

namespace commensal::lab::bench::promise {
namespace {

/// The host, the probe that watches it and the governor that listens, step by step.
class Simulation {
 public:
  Simulation(const SimulatedHost& host, std::uint64_t seed, const governor::Rules& rules,
             const governor::Carried& carried, Asking asking)
      : host_(host),
        rules_(rules),
        rng_(seed),
        dice_(seed, 1),
        governor_(rules, dice_, carried),
        asking_(asking) {}

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
      if (sample || asking_ == Asking::kEager || now_s_ >= governor_.next_s()) {
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
    const double blocked = host_.blocked * level_ * (alone - lost);
    lost_.push_back(lost_.back() + (lost + blocked) * kStep);
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
    probe::RateSample made{now_s_, over_s, rate, host_.throttled(now_s_, level_)};
    if (host_.blocked > 0 || host_.others_s > 0) made.signal = probe::Signal::kNeededTime;
    made.rate_by_clock = rate * (1 - host_.blocked * level_) * left_by_others();
    return made;
  }

  /// Others take most of the host's processor in every other stretch.
  double left_by_others() {
    if (host_.others_s > 0 && now_s_ >= others_until_s_) {
      others_until_s_ = now_s_ - host_.others_s * std::log(1 - rng_.next_unit());
      are_others_ = !are_others_;
    }
    return are_others_ ? 0.35 : 1;
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

  const SimulatedHost& host_;
  governor::Rules rules_;
  core::CounterRng rng_;
  core::CounterRng dice_;
  governor::Governor governor_;
  const Asking asking_;
  double now_s_ = 0;
  double noise_ = 0;
  double level_ = 0;
  double late_ = 0;
  bool is_shown_ = false;
  double said_s_ = 0;
  double others_until_s_ = 0;
  bool are_others_ = false;
  std::vector<double> alone_{0};  // work of all steps so far, had there been no guest,
  std::vector<double> lost_{0};   // ... what the guest cost of it,
  std::vector<double> work_{0};   // ... and what was done, with noise
  Outcome outcome_;
};

}  // namespace

SimulatedHost::OfTime constant(double value) {
  return [value](double) { return value; };
}

Outcome run(const SimulatedHost& host, double seconds, std::uint64_t seed,
            const governor::Carried& carried, Asking asking) {
  return Simulation(host, seed, {}, carried, asking).run(seconds);
}

}  // namespace commensal::lab::bench::promise
