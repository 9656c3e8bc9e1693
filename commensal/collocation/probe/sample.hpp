// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace commensal::probe {

/// What a probe's figure is.
enum class Quantity {
  kRate,  // work a second, averaged by the host's program
  kWork,  // work so far: a counter that grows
};

/// What a host works on, as far as the kind of its probe tells.
enum class Device { kUnknown, kProcessors, kGpu };

/// What a process's threads did so far.
struct HostSeconds {
  double run_s = 0;   // on a processor
  double wait_s = 0;  // ready to run, but waiting for one, since it was first looked at

  /// What it wanted of the processors, whether it got it or not: waits for locks, memory and disks
  /// are not in it.
  double needed_s() const { return run_s + wait_s; }
};

/// By which time a rate is told.
enum class Signal {
  kClock,
  kOwnTime,     // that the program says it spent on its work
  kNeededTime,  // HostSeconds::needed_s: that it ran, or waited for a processor
};

constexpr std::string_view name_of(Signal signal) {
  constexpr std::string_view kNames[] = {"clock", "own time", "needed time"};
  return kNames[static_cast<int>(signal)];
}

/// What is known of a figure before it is read. Texts are of static storage.
struct Traits {
  std::string_view unit;  // of the work: "hashes", "seconds of CPU", ...
  Quantity quantity = Quantity::kRate;
  double resolution_s = 1;    // the program renews the figure about so often
  double averaging_s = 0;     // a rate is the mean over about so long; 0: of a counter
  double stale_after_s = 30;  // no life for so long: the figure is of the past
  Device device = Device::kUnknown;
  std::string_view signals = "work by the clock";  // for people
};

enum class State {
  kFresh,
  kStale,    // a figure, but of a program that shows no life
  kInvalid,  // no figure
};

constexpr std::string_view name_of(State state) {
  constexpr std::string_view kNames[] = {"fresh", "stale", "invalid"};
  return kNames[static_cast<int>(state)];
}

/// One look at the host's progress.
struct Sample {
  std::int64_t at_ns = 0;  // on the clock's monotonic time: when the figure held
  double value = 0;        // by Traits::quantity; 0 where invalid
  State state = State::kInvalid;
  std::string why;                    // one line, unless fresh
  std::optional<double> own_s{};      // as Figure's
  bool is_throttled = false;          // power or heat holds back what the host works on
  std::optional<HostSeconds> host{};  // where its process is known
  std::string by_clock{};             // one line: why it is not, where it was looked for

  bool is_fresh() const { return state == State::kFresh; }
};

/// What a decoder finds in an answer.
struct Figure {
  double value = 0;
  /// The program's own time of life in seconds, if it tells: a figure whose program stands still is
  /// told from one that is steady.
  std::optional<double> uptime_s{};
  /// Of a counter: the time that the program itself spent on the work so far, where a second
  /// counter tells. The rate is then by that time, not by the clock's: a server that waits for
  /// requests does not look slow.
  std::optional<double> own_s{};
};

/// How fast the host worked: the mean over the stretch [at_s - over_s, at_s] of the clock. Any unit
/// serves where only ratios count: a second needed by four threads is a quarter of a second.
struct RateSample {
  double at_s = 0;
  double over_s = 0;
  double rate = 0;            // work a second, of the time that `signal` says
  bool is_throttled = false;  // as Sample's
  double rate_by_clock = 0;   // 0: not known
  double given = 1;           // share of the time it needed that it was on a processor, if known
  Signal signal = Signal::kClock;
};

}  // namespace commensal::probe
