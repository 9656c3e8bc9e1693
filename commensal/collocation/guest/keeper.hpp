// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/governor/governor.hpp>
#include <commensal/collocation/guest/duty_pacer.hpp>
#include <commensal/collocation/probe/meter.hpp>
#include <commensal/collocation/probe/probe.hpp>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

namespace commensal::guest {

/// Waits, unless the thread is to stop.
void wait(const std::stop_token& stop, double seconds);
/// Calls `work` until the thread is to stop, each time after the seconds that it said last.
void repeat(const std::stop_token& stop, const std::function<double()>& work);

/// What the operator sees.
struct View {
  governor::Status governor;
  std::string_view unit;  // of the host's work
  std::string signal;     // why there is none, in words; empty while there is one
};

/// Keeps one host: looks at its probe, asks the governor, and holds the guests' pacer to the
/// answer. look() and act() are apart because a probe may be slow and the guest must not be: look()
/// belongs to one thread, all else to any.
class Keeper {
 public:
  /// What it keeps; all outlive it.
  struct Dependencies {
    const core::Clock& clock;
    core::Rng& rng;
    probe::Probe& probe;
    DutyPacer& pacer;
  };
  Keeper(const Dependencies& deps, const governor::Rules& rules,
         const governor::Carried& carried = {});

  /// What the host's probe says, and what follows from it. Returns why it is by the clock:
  /// probe::Sample::by_clock.
  std::string look();
  /// What follows from the time that has passed.
  void act();
  /// Until look() or act() has something new to find, in seconds.
  double look_in_s() const;
  double act_in_s() const;
  /// Another promise, or other guests: a new governor begins with what is handed over, of what the
  /// old one carried.
  void begin_anew(
      const governor::Rules& rules,
      const std::function<governor::Carried(const governor::Carried& before)>& hand_over);
  /// governor::Governor::hold().
  void hold(std::string_view why);
  View view() const;
  governor::Carried carried() const;

 private:
  double now_s() const;

  Dependencies deps_;
  probe::Meter meter_;

  mutable std::mutex mutex_;
  // Guarded:
  std::optional<governor::Governor> governor_;  // always one
  double looked_s_;
  std::string signal_ = "not looked at yet";
};

/// Whether guests that stand still should say so. The stretches without them by which the governor
/// measures are not worth a word where they are short: who waits for an answer would hardly know.
/// Thread-safety: none.
class Standstill {
 public:
  /// Why they stand still; "" while they run, or have only just stopped and may go on any moment.
  /// Until they run for the first time it is one reason, unless there is no signal for long.
  /// `level` is this guest's; `view` what the governor of all sees, where it is known. To be asked
  /// several times a second.
  std::string why(double level, const std::optional<View>& view, double now_s);

 private:
  std::string reason(const View& view);

  std::string signal_;  // why there is none, as was said last
  std::optional<double> since_s_;
  bool have_run_ = false;
};

}  // namespace commensal::guest
