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

/// What is known of a figure before it is read. Texts are of static storage.
struct Traits {
  std::string_view unit;  // of the work: "hashes", "seconds of CPU", ...
  Quantity quantity = Quantity::kRate;
  double resolution_s = 1;    // the program renews the figure about so often
  double averaging_s = 0;     // a rate is the mean over about so long; 0: of a counter
  double stale_after_s = 30;  // no life for so long: the figure is of the past
  Device device = Device::kUnknown;
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
  std::string why;  // one line, unless fresh
  std::optional<double> own_s{};  // as Figure's
  bool is_throttled = false;      // power or heat holds back what the host works on

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

/// How fast the host worked: the mean over the stretch [at_s - over_s, at_s]. Seconds are those of
/// the clock; any unit of work serves where only ratios count.
struct RateSample {
  double at_s = 0;
  double over_s = 0;
  double rate = 0;            // work a second
  bool is_throttled = false;  // as Sample's
};

}  // namespace commensal::probe
