// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/collocation/drawn.hpp>
#include <commensal/lab/bench/report.hpp>
#include <optional>
#include <string>
#include <vector>

/// What the slices say. A host's rate drifts by itself, so each slice is compared with what the
/// controls around it say of its own time: linear between the nearest before and after.
namespace commensal::lab::bench::collocation {

/// Mean and 95 % interval (Student's t).
Share95 share95(const std::vector<double>& values);
/// Of one or two values by the scatter of others that are alike.
Share95 share95(const std::vector<double>& values, const std::vector<double>& alike);

struct ArmFigures {
  std::string arm;
  int slices = 0;
  Share95 kept;  // host's rate over the controls'
  /// The same from within the slices, of a rule that lets the guest rest now and then: the host
  /// with it against the host without it just before and after. It takes for granted that a guest
  /// that rests costs nothing, and is far less blurred by what the machine does by itself.
  std::optional<Share95> kept_within;
  double worst_within = 0;  // the least of it in a slice
  double worst_minute = 0;  // the least share of a slice, its block's own control left out
  double harvest = 0;       // guest's rate, as a share of what it does without a host
  double images_per_s = 0;
  std::optional<Share95> p99;  // of a server, over the control's in the same block
  double governor_cpu = 0;     // of all processors' time
  std::string said;            // at the end of the last slice
};

struct PairFigures {
  std::string pair;
  double alone_images_per_s = 0;
  /// Of the processors' time in a slice, by others on the hardware: the least and the most.
  std::optional<std::pair<double, double>> stolen;
  std::vector<ArmFigures> arms;  // those with slices; of the control, each against the others

  const ArmFigures* find(std::string_view arm) const;
};

/// What a guest that rests now and then left the host of a slice: one less the share of its time
/// with the guest times what the host lost in it, each stretch with the guest against the means of
/// up to kBesideS without it just before and just after. None: a guest without a rest.
std::optional<double> kept_within(const Slice& slice);

inline constexpr double kBesideS = 5;

std::vector<PairFigures> figures_of(const Slices& slices);
/// All rows; those with a limit are the project's bars.
std::vector<bench::Row> rows_of(const std::vector<PairFigures>& pairs);
/// A table for each pair.
std::string text_of(const std::vector<PairFigures>& pairs);
Report report_of(const std::vector<PairFigures>& pairs);

}  // namespace commensal::lab::bench::collocation
