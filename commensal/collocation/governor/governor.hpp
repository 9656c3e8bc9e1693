// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/governor/estimate.hpp>
#include <commensal/collocation/governor/evidence.hpp>
#include <commensal/collocation/governor/plan.hpp>
#include <optional>
#include <string_view>

namespace commensal::governor {

/// What the governor is about.
enum class Phase {
  kWaiting,  // there is no signal to go by: guest off
  kOff,      // the reference is measured: guest off
  kOn,
  kCheck,  // the host lost much just now: guest off, to see whether the guest was why
  kBackOff,
};
std::string_view name_of(Phase phase);

/// For the operator's view. Losses are shares; rates in the host's unit.
struct Status {
  Phase phase = Phase::kWaiting;
  std::string_view why;   // the guest is off, or was stopped last
  double level = 0;       // of the guest now, of full speed
  double budget = 0;      // ... on average
  double rate = 0;        // the host's, last seen; 0: there is no signal
  double reference = 0;   // ... without the guest, last measured
  double loss = 0;        // over the last over_s
  double loss_high = 0;   // ... at the promised confidence
  double over_s = 0;      // what is known so far, up to W; 0: nothing yet
  double window_s = 0;    // W, over which the promise is to be shown
  bool is_shown = false;  // W is full and loss_high within the promise
  double slope = 0;       // loss that a guest at full speed would cost
  double slope_sd = 0;
  long trips = 0;
  long changes = 0;  // cycles in which the host changed by itself
};

/// Decides how fast the guests of a machine may run, so that the host loses less than is promised
/// (docs/collocation.md). A function of the samples, the times at which it is told them, and the
/// dice: no clock, no thread, no machine. One for each machine.
///
///   waiting -> off -> on -> off -> ...       the loss of a stretch with the guest is against the
///               ^      |                     means of both its neighbours without
///               |      v gross loss
///               +--- check ---> back-off -> off
///
/// Thread-safety: none.
class Governor {
 public:
  /// `rng` outlives it.
  Governor(const Rules& rules, core::Rng& rng);

  /// Time is now `now_s`, and the host's probe had something new or not. To be called several times
  /// a second. Returns the level that the guests may run at from now on, in [0, 1]. Samples that
  /// are not newer than the last, from the future, not finite or not positive are ignored.
  double tick(double now_s, const std::optional<probe::RateSample>& sample);
  Status status() const;

 private:
  double take(double now_s, const std::optional<probe::RateSample>& sample);
  bool accept(double now_s, const probe::RateSample& sample);
  void wait(double now_s, std::string_view why);
  void begin_off(double now_s, Phase phase, double least_s);
  void begin_on(double now_s);
  void end_off(double now_s);
  void learn_noise(double now_s);
  void look_at(double now_s, const probe::RateSample& sample);
  void look_at_host_alone(const probe::RateSample& sample);
  bool is_gross(const probe::RateSample& sample) const;
  bool is_worse_than_feared(const probe::RateSample& sample);
  bool judge_check();
  bool learn(double now_s);
  void settle_budget();
  Plan next_plan();
  void trip(double now_s, std::string_view why);
  double part_s() const;
  double beside_s() const { return std::max(rules_.beside, part_s()); }

  Rules rules_;
  core::Rng& rng_;
  Noise noise_;
  Slope slope_;
  Evidence evidence_;
  Alarm alarm_;

  Phase phase_ = Phase::kWaiting;
  std::string_view why_ = "no signal yet";
  double until_s_ = 0;
  double budget_ = 0;
  double cycle_s_;
  Plan plan_;
  double off_begin_s_ = 0;
  double on_begin_s_ = 0;
  double on_end_s_ = 0;
  double learnt_s_ = 0;
  std::optional<Part> before_;  // without the guest, before `on_`
  std::optional<Part> on_;
  // Of the stretch that is under way; without the guest, what is next to its beginning and to its
  // end: what lies further from the guest is of another time.
  Part now_;
  Part late_;
  Part recent_;  // ... and of its newest part
  double back_off_s_;

  std::optional<probe::RateSample> last_;
  double seen_s_ = 0;     // when the last sample was accepted
  double changed_s_ = 0;  // ... with another rate than the one before
  double over_s_ = 0;     // of a sample, the longest lately
  // Stretches without the guest before the first with it, in which the host's noise is learnt; a
  // silence later on does not take that back.
  int to_learn_ = 5;
  bool has_run_ = false;        // the guest, ever
  bool is_first_look_ = false;  // what it costs was not known: a loss is learnt from, no trip
  long trips_ = 0;
  long changes_ = 0;
};

}  // namespace commensal::governor
