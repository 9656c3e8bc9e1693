// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <optional>
#include <string>
#include <vector>

namespace commensal::lab::bench::collocation {

/// What was seen over a quarter of a second.
struct Point {
  double host_rate = 0;  // work a second
  double images_per_s = 0;
};
inline constexpr double kPointS = 0.25;

/// A stretch of a slice in which the guest was stopped from outside, or let run as its rule would,
/// as a coin had it; its first moment, in which things settle, is left out.
struct Epoch {
  double from_s = 0, to_s = 0;  // since the slice began
  bool is_let = false;
  double work = 0;                      // of the host
  double work_s = 0;                    // the time that it needed, where it or its process tells
  double images = 0;                    // of the guest
  std::vector<double> latencies_ms{};   // of a server's requests
  std::vector<double> unhindered_ms{};  // ... had each taken just the work that it is
};
inline constexpr double kStretchS = 4;
inline constexpr double kSettlingS = 0.5;

/// One stretch of time of one arm.
struct Slice {
  std::string pair;
  int index = 0;  // in the pair's order
  std::string arm;
  int block = 0;
  double begin_s = 0;  // since 1970
  double seconds = 0;
  double guest_cpu = 0;     // processors that the guest kept busy
  double governor_cpu = 0;  // ... and that its rule did
  std::string said;         // by the rule, at the end: where it stands and why
  /// Share of the processors' time that a virtual machine's host kept for others, if known.
  std::optional<double> stolen{};
  std::vector<Point> points{};
  std::vector<Epoch> epochs{};
};

/// The guest without a host.
struct Alone {
  std::string pair;
  double images_per_s = 0;
};

/// All that was measured; a line of JSON each.
struct Slices {
  std::vector<Alone> alone;
  std::vector<Slice> slices;

  const Alone* find_alone(std::string_view pair) const;
  const Slice* find(std::string_view pair, int index) const;
};

std::string to_line(const Slice& slice);
std::string to_line(const Alone& alone);
/// Error: kDataLoss, with the number of the line. A last line that is cut off is left out.
core::Result<Slices> read_slices(std::string_view text);

}  // namespace commensal::lab::bench::collocation
