// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/tuner/tuner.hpp>
#include <deque>

namespace commensal::tuner {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr double kSettleS = 0.1;  // after a change, before anything counts
constexpr double kAverages = 3;   // of the probe's own averaging time, a stretch at least
constexpr double kMinuteS = 60;
constexpr double kRestS = 1;
constexpr double kFearedFirst = 0.3;  // of the host's work, of a way that was never tried

class Trial {
 public:
  Trial(const Dependencies& deps, std::span<Runner* const> runners, const TunerOptions& options)
      : deps_(deps),
        runners_(runners),
        options_(options),
        stretch_s_(stretch_of(deps.probe, options.stretch_s)),
        tuning_(runners.size(), options.rules) {}

  Result<Tuning> run() {
    COMMENSAL_ASSIGN(double before, rate());
    while (const auto way = tuning_.next(deps_.rng)) {
      if (is_unbearable(*way)) {
        tuning_.leave_out(*way);
        continue;
      }
      COMMENSAL_ASSIGN(const bool has_rested, rest(*way));
      if (has_rested) {
        COMMENSAL_ASSIGN(before, rate());
      }
      COMMENSAL_ASSIGN(Seen seen, look(*way));
      COMMENSAL_ASSIGN(const double after, rate());
      if (before + after <= 0) return fail(ErrorCode::kUnavailable, "the host does no work");
      seen.stretch.loss = 1 - 2 * seen.rate / (before + after);
      tuning_.add(*way, seen.stretch);
      lost_.push_back({now_s(), std::max(0.0, seen.stretch.loss) * seen.stretch.seconds});
      options_.progress(tuning_);
      before = after;
    }
    return tuning_;
  }

 private:
  struct Seen {
    double rate = 0;
    Stretch stretch{};
  };
  struct Lost {
    double at_s, seconds;
  };

  double now_s() const { return 1e-9 * static_cast<double>(deps_.clock.monotonic_ns()); }

  Result<void> wait(double seconds) const {
    if (deps_.wait(seconds)) return {};
    return fail(ErrorCode::kCancelled, "stopped before the ways were told apart");
  }

  /// The host's, over a stretch from now on.
  Result<double> rate() const {
    probe::Meter meter(deps_.probe.traits(), stretch_s_ / 2);
    COMMENSAL_TRY(wait(kSettleS));
    meter.add(deps_.probe.sample());
    COMMENSAL_TRY(wait(stretch_s_));
    const probe::Sample sample = deps_.probe.sample();
    if (const auto read = meter.add(sample)) return read->rate;
    return fail(ErrorCode::kUnavailable, "no signal of the host: {}",
                sample.is_fresh() ? "it did no work" : sample.why);
  }

  Result<Seen> look(std::size_t way) {
    Runner& runner = *runners_[way];
    COMMENSAL_ASSIGN(const std::uint64_t first, runner.answers());
    const double begin_s = now_s();
    runner.let(true);
    const auto rate_with = rate();
    runner.let(false);
    COMMENSAL_ASSIGN(const double with, rate_with);
    COMMENSAL_ASSIGN(const std::uint64_t last, runner.answers());
    return Seen{with, {0, now_s() - begin_s, static_cast<double>(last - first)}};
  }

  /// What this way is feared to cost a stretch, in seconds of the host's work.
  double feared_s(std::size_t way) const {
    const WayFigures known = tuning_.figures(way);
    const double share = known.stretches > 0 ? std::max(0.0, known.loss.mean) : kFearedFirst;
    return share * stretch_s_;
  }

  double minute_s() const { return options_.minute_max * kMinuteS; }
  /// A minute of nothing else would lose more than it may, as far as is known.
  bool is_unbearable(std::size_t way) const {
    return tuning_.figures(way).stretches > 0 && feared_s(way) > minute_s();
  }

  /// While this minute cannot bear this way. True: it took time.
  Result<bool> rest(std::size_t way) {
    for (bool has_rested = false;; has_rested = true) {
      while (!lost_.empty() && lost_.front().at_s < now_s() - kMinuteS) lost_.pop_front();
      double lost_s = 0;
      for (const Lost& one : lost_) lost_s += one.seconds;
      if (lost_.empty() || lost_s + feared_s(way) <= minute_s()) return has_rested;
      COMMENSAL_TRY(wait(kRestS));
    }
  }

  const Dependencies& deps_;
  const std::span<Runner* const> runners_;
  const TunerOptions& options_;
  const double stretch_s_;
  Tuning tuning_;
  std::deque<Lost> lost_;  // within a minute
};

}  // namespace

double stretch_of(const probe::Probe& probe, double at_least_s) {
  return std::max(at_least_s, kAverages * probe.traits().averaging_s);
}

Result<Tuning> tune(const Dependencies& deps, std::span<Runner* const> runners,
                    const TunerOptions& options) {
  for (Runner* const runner : runners) runner->let(false);
  return Trial(deps, runners, options).run();
}

}  // namespace commensal::tuner
