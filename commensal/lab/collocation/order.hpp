// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/lab/collocation/pairs.hpp>
#include <vector>

namespace commensal::lab {

/// One slice to come.
struct Step {
  const Arm* arm = nullptr;
  int block = 0;
};

/// The order of a pair's slices: `blocks` couples of control and ours, each in random order, and
/// `others` slices of each of the other arms, shuffled among the couples. So each of ours has a
/// control beside it, and whatever drifts meets all arms alike. Of the arms in `arms`.
std::vector<Step> make_order(const std::vector<const Arm*>& arms, int blocks, int others,
                             core::Rng& rng);

}  // namespace commensal::lab
