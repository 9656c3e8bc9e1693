// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/rng.hpp>
#include <commensal/collocation/governor/belief.hpp>
#include <commensal/collocation/governor/carried.hpp>
#include <commensal/collocation/governor/clock_check.hpp>
#include <commensal/collocation/governor/design.hpp>
#include <optional>
#include <string_view>

namespace commensal::governor {

/// What the governor is about.
enum class Phase {
  kWaiting,  // there is no signal to go by: guest off
  kAlone,    // the host is looked at alone, before the guest runs at all: guest off
  kOff,      // an epoch that was drawn without the guest
  kOn,       // ... and with it
  kStill,    // nothing was drawn: the guest has nothing left of minute or hour
  kLong,     // a long stretch without the guest, for effects that lag
  kBackOff,  // after a trip
};
std::string_view name_of(Phase phase);

/// For the operator's view. Losses are shares; rates in the host's unit.
struct Status {
  Phase phase = Phase::kWaiting;
  std::string_view why;   // the guest is off, or was stopped last
  double level = 0;       // of the guest now, of full speed
  double budget = 0;      // ... on average, as the hour bears it now
  double rate = 0;        // the host's, last seen; 0: there is no signal
  double reference = 0;   // ... without the guest, as predicted
  double loss = 0;        // of this hour so far
  double loss_high = 0;   // ... at the promised confidence, at every look; at most 1
  double hour_s = 0;      // this hour so far; 0: nothing is known yet
  bool is_shown = false;  // loss_high is within the promise
  double cost = 0;        // what a guest at full speed would cost: at once
  double cost_sd = 0;
  double lag = 0;         // ... and late
  double scatter = 0;     // of the host's rate over four seconds: a relative deviation
  double not_given = 0;   // ... of that: of the time that it was given by those beside it
  double explored_s = 0;  // of the host's work, spent this hour on learning that
  long trips = 0;
  long changes = 0;  // jumps of the host's rate by itself
};

/// Decides how fast the guests of a machine may run, so that the host loses less than is promised
/// (docs/collocation.md). A function of the samples, the times at which it is told them, and the
/// dice: no clock, no thread, no machine. One for each machine.
///
/// Time is cut into epochs. Each is drawn, with the guest or without, by a probability that is
/// settled before; what the guest costs is the difference of the two, and nothing that was drawn is
/// left out of the books.
///
/// Thread-safety: none.
class Governor {
 public:
  /// `rng` outlives it. `carried`: what is believed to begin with, and what the hour has cost.
  Governor(const Rules& rules, core::Rng& rng, const Carried& carried = {});

  /// Time is now `now_s`, and the host's probe had something new or not. To be called with every
  /// sample, and at next_s(). Returns the level that the guests may run at from now on, in [0, 1].
  /// Samples that are not newer than the last, from the future, not finite or not positive are
  /// ignored.
  double tick(double now_s, const std::optional<probe::RateSample>& sample);
  /// Until then tick() without a sample changes nothing. Infinite: until there is one.
  double next_s() const;
  /// When the host is to be looked at next, if it was at `last_s`: every `every_s`, in long epochs
  /// once a second, and where epochs meet, so that little of them is lost.
  double look_s(double last_s, double every_s) const;
  /// From the next epoch on nothing is drawn, and the guest stands still, while there is a `why`
  /// (of static storage): the caller's, beside what the governor knows.
  void hold(std::string_view why) { held_ = why; }
  Status status() const;
  /// As of the last tick; what runs just now counts for what it is believed to cost.
  Carried carried() const;

 private:
  // What looked like a gross loss, until the host has been looked at without the guest.
  struct Doubted {
    Epoch epoch;
    double rate = 0;
    double expected = 0;
    bool is_tripped = false;
    bool is_throttled = false;
  };

  // Of the host's rate: by how much it missed what was expected, and what is beyond all noise.
  struct Surprise {
    double size = 0, limit = 0;
  };

  bool accept(double now_s, const probe::RateSample& sample);
  void wait(double now_s, std::string_view why);
  void begin(double now_s, Phase phase, double seconds);
  void stop_guest(double now_s);
  void look_at(double now_s, const probe::RateSample& sample);
  bool is_gross(const probe::RateSample& sample) const;
  void end(double now_s);
  void end_drawn(double now_s);
  Surprise surprise_of(const Epoch& epoch, double rate, double expected) const;
  void book(const Epoch& epoch, double surprise);
  void trip(std::string_view why);
  void check_clock(double now_s, const Epoch& epoch);
  void believe(double now_s, const Epoch& epoch, double rate, bool is_sure = false);
  void settle_doubt(double now_s);
  void blame(double now_s, const Doubted& doubted);
  void next(double now_s);
  bool begin_what_is_due(double now_s);
  void stand_still(double now_s, std::string_view why);
  bool is_running() const { return phase_ == Phase::kOn && !is_stopped_; }
  double least_s() const;
  double stale_s() const { return std::max(rules_.stale, 3 * over_s_); }
  double frozen_s() const { return std::max(rules_.frozen, 6 * over_s_); }
  Belief::Exposure exposure(double level, double seconds) const;

  Rules rules_;
  core::Rng& rng_;
  Belief belief_;
  Hour hour_;
  ClockCheck clock_check_;
  Minute minute_;
  Scatter given_;
  std::optional<double> hour_begin_s_;
  double hour_before_s_;  // what had passed of it when this governor was made

  Phase phase_ = Phase::kWaiting;
  std::string_view why_ = "no signal yet";
  std::string_view held_;
  double now_s_ = 0;  // the last tick
  double begin_s_ = 0;
  double until_s_ = 0;
  Design design_;
  Part part_;
  bool is_stopped_ = false;  // within an epoch with the guest: what looks like a gross loss
  double on_end_s_ = 0;
  double seconds_before_ = 0;
  int drawn_;  // epochs, since something that was learnt before is held to be so
  double level_tried_ = 0;
  double believed_s_ = 0;
  double lately_ = 0;  // the guest's mean level of about a minute
  int alone_left_ = 5;

  std::optional<Doubted> doubted_;
  std::optional<double> silent_since_s_;  // it fell silent beside the guest
  bool is_throttled_alone_ = false;
  bool has_tripped_ = false;
  int clean_ = 0;  // epochs with the guest since the last trip
  double back_off_s_;
  double rest_s_;        // left of a back-off of before this governor was made
  double run_before_s_;  // Carried::minute_run_s
  double long_due_s_ = 0;
  double long_until_s_ = 0;

  std::optional<probe::RateSample> last_;
  double seen_s_ = 0;     // when the last sample was accepted
  double changed_s_ = 0;  // ... with another rate than the one before
  double over_s_ = 0;     // of a sample, the longest lately
  long trips_ = 0;
  long changes_ = 0;
};

}  // namespace commensal::governor
