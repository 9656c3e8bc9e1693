// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/collocation/drawn.hpp>
#include <commensal/lab/bench/report.hpp>
#include <optional>
#include <string>
#include <vector>

/// What the slices say: of each arm, the stretches in which its guest was let against those in
/// which it was stopped.
namespace commensal::lab::bench::collocation {

struct ArmFigures {
  std::string arm;
  int slices = 0;
  int let = 0, stopped = 0;     // stretches
  std::optional<Share95> kept;  // kept_drawn; none: too few stretches
  /// The same by the clock: waits for locks, memory and disks are in it, and whoever else takes the
  /// processors. None of a server, which works when it is asked.
  std::optional<Share95> kept_by_clock;
  double images_per_s = 0;     // while the guest was let
  double harvest = 0;          // ... as a share of what it does without a host
  std::optional<Share95> p99;  // p99_drawn, of a server
  double governor_cpu = 0;     // of all processors' time
  std::string said;            // at the end of the last slice

  bool keeps() const;  // on average, what is promised
};

struct PairFigures {
  std::string pair;
  double alone_images_per_s = 0;
  /// Of the processors' time in a slice, by others on the hardware: the least and the most.
  std::optional<std::pair<double, double>> stolen;
  std::vector<ArmFigures> arms;  // those with slices

  const ArmFigures* find(std::string_view arm) const;
};

/// `rng` draws the coins anew, for the intervals.
std::vector<PairFigures> figures_of(const Slices& slices, core::Rng& rng);
/// All rows; those with a limit are the project's bars.
std::vector<bench::Row> rows_of(const std::vector<PairFigures>& pairs);
/// A table for each pair.
std::string text_of(const std::vector<PairFigures>& pairs);
Report report_of(const std::vector<PairFigures>& pairs);

}  // namespace commensal::lab::bench::collocation
