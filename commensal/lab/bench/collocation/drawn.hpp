// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/collocation/slice.hpp>
#include <optional>
#include <vector>

/// What stretches of time with the guest and without it say, where a fair coin drew which is which.
/// Nothing is taken for granted about the host's noise: how far chance alone moves a figure is seen
/// by drawing the coins anew.
namespace commensal::lab::bench::collocation {

struct Share95 {
  double mean = 0, low = 0, high = 0;
};

/// The stretches of an arm, in order; those of a slice follow each other.
using Stretches = std::vector<std::vector<Epoch>>;

/// The host's rate with the guest let over that with it stopped, and 95 % interval. Each stretch is
/// compared with those beside it in its slice, so that what drifts does not count. `rng` draws the
/// coins anew. None: too few stretches of either kind.
std::optional<Share95> kept_drawn(const Stretches& slices, core::Rng& rng);

/// Likewise the 99th percentile of the host's latencies. Where it is known what they would have
/// been unhindered, the same ratio of that is taken out: whether bursts came with the guest or
/// without.
std::optional<Share95> p99_drawn(const Stretches& slices, core::Rng& rng);

}  // namespace commensal::lab::bench::collocation
