// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/spot/cone.hpp>

namespace commensal::spot {

/// Which fake is to be caught, and how surely: one of which at least `fraction` of the elements
/// are wrong escapes with a chance of at most `escape`.
struct SpotPolicy {
  double fraction = 0.01;
  double escape = 0.05;
};

/// k = ceil(log(escape) / log(1 - fraction)): the chance that k independent draws all miss is
/// (1 - fraction)^k; drawn without repetition it is less. Source: Du, Jia, Mangal, Murugesan,
/// "Uncheatable Grid Computing" (ICDCS 2004), section 3. Error: kInvalidArgument unless fraction
/// is in (0, 1] and escape in (0, 1).
core::Result<std::uint64_t> samples_for(const SpotPolicy& policy);

/// `count` of `elements` places, ascending, each at most once (all where there are no more), that
/// follow from `seed`, such as a beacon's value bound to the claim: nobody chooses them.
std::vector<std::int64_t> draw_places(const core::Digest& seed, std::int64_t elements,
                                      std::uint64_t count);

struct SpotDifference {
  std::int64_t element = 0;                 // -1: the claim has another type
  std::uint64_t claimed = 0, computed = 0;  // bits
};
struct SpotReport {
  std::uint64_t checked = 0;
  std::optional<SpotDifference> first;  // none: all that was drawn is right
  ConeWork work;
};

/// Checks random elements of a claimed output against what the graph makes of `inputs`. An honest
/// claim is never found different. Errors: as samples_for and cone_values.
core::Result<SpotReport> spot_check(const graph::Graph& graph,
                                    std::span<const tensor::Tensor> inputs, std::size_t output,
                                    const tensor::Tensor& claimed, const core::Digest& seed,
                                    const SpotPolicy& policy, const ConeOptions& options = {});

}  // namespace commensal::spot
