// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
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
/// The other way round: with what chance, at least, `checked` of `elements` find such a fake.
double chance_to_find(double fraction, std::uint64_t checked, std::uint64_t elements);

/// `count` of `elements` places, ascending, each at most once (all where there are no more), that
/// follow from `seed`, such as a beacon's value bound to the claim: nobody chooses them.
std::vector<std::int64_t> draw_places(const core::Digest& seed, std::int64_t elements,
                                      std::uint64_t count);

/// How many are drawn, and by what: nobody who made the claim knew it.
struct SpotDraw {
  std::uint64_t count = 0;
  core::Digest seed{};
};
struct SpotDifference {
  std::size_t output = 0;
  std::int64_t element = 0;                 // -1: the claim has another type
  std::uint64_t claimed = 0, computed = 0;  // bits
  tensor::TensorType type;                  // that was computed
};
struct SpotReport {
  std::vector<std::uint64_t> checked;   // elements, by output
  std::uint64_t elements = 0;           // that are claimed, of all outputs
  std::optional<SpotDifference> first;  // none: all that was drawn is right
  ConeWork work;

  std::uint64_t total() const;  // checked
};

/// Checks random elements, drawn from all claimed outputs together, and the types of all, against
/// what the graph makes of `inputs`; both in the graph's order. An honest claim is never found
/// different. Errors: kInvalidArgument (another number of outputs), as cone_values.
core::Result<SpotReport> spot_check(const graph::Graph& graph,
                                    std::span<const tensor::Tensor> inputs,
                                    std::span<const tensor::Tensor> claimed, const SpotDraw& draw,
                                    const ConeOptions& options = {});

}  // namespace commensal::spot
