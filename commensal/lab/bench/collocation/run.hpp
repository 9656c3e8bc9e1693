// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/collocation/figures.hpp>
#include <commensal/lab/bench/collocation/pairs.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

/// What a host keeps and a guest gets beside each other, by the rules of others and by ours.
namespace commensal::lab::bench::collocation {

struct CollocationOptions {
  Place place;
  core::Path slices_file;          // every slice is added to it; what it has is not measured again
  std::vector<std::string> pairs;  // names; empty: all
  std::vector<std::string> arms;   // likewise; ours is needed for bars
  int blocks = 6;                  // slices of the control, and of ours
  int others = 2;                  // ... of each other arm
  double slice_s = 60;
  double alone_s = 10;
  std::uint64_t seed = 1;  // of the slices' order, of the coins and of the governor's dice
  /// Called before each slice.
  std::function<void(const std::string& what, std::size_t done, std::size_t total)> progress;
};

/// Measures what the file lacks; a rule's state is of this process, so that it begins anew where a
/// run is taken up again. Errors: kInvalidArgument (an unknown name); those of files, models,
/// hosts.
core::Result<Slices> run_collocation(const CollocationOptions& options, const core::Clock& clock);

/// One picture for each pair: the host's and the guest's rate over the time of each arm, one slice
/// after the other. Returns names of files and texts.
std::vector<std::pair<std::string, std::string>> collocation_charts(
    const Slices& slices, const std::vector<PairFigures>& pairs);

}  // namespace commensal::lab::bench::collocation
