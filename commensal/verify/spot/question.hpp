// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/spot/survey.hpp>

/// What an audit asks, and which leaves answer it: both sides find these for themselves, so no
/// message names them. Pure functions.
namespace commensal::spot {

/// How much an audit asks. The more, the surer, and the dearer.
struct Terms {
  std::uint64_t elements = 2;   // of products: half of them drawn by their own work, half by the
                                // work up to them
  std::uint64_t last = 1;       // more of the last product
  std::uint64_t leaves = 4;     // of other operators
  std::uint64_t products = 0;   // large products checked by a vector
  bool all_elementwise = false;  // and all elementwise operators once more, in full
  bool holds_weights = true;     // the auditor: no weight is opened
  bool operator==(const Terms&) const = default;
};
/// Error: kResourceExhausted beyond limits::kAuditDrawsMax.
core::Result<void> check(const Terms& terms);

enum class Method : std::uint8_t {
  kElement,  // is this element right?
  kLeaf,     // are these elements of one leaf?
  kVector,   // does a random vector times both sides agree? (Freivalds)
  kWhole,    // are all outputs?
};

struct Question {
  Method method = Method::kElement;
  std::size_t node = 0, output = 0;
  std::int64_t place = 0;  // an element or a leaf
  Digest seed{};           // of what is drawn within it
  bool operator==(const Question&) const = default;
};

/// H("commensal/sublinear/v1", beacon's value | receipt | list root): nobody knows it before the
/// roots are signed and the beacon's round is over.
Digest audit_seed(const Digest& beacon, const Digest& receipt_id, const Digest& list_root);

std::vector<Question> draw(const graph::Graph& graph, const Survey& survey, const Terms& terms,
                           const Digest& seed);

/// The chance that a fraud is asked for: `wrong[n]` is the fraction of node n's elements (leaves,
/// where it is no product) that differ from what its operator makes of its inputs. Exact but for
/// draws by vector, which are left out.
double catch_chance(const graph::Graph& graph, const Survey& survey, const Terms& terms,
                    std::span<const double> wrong);

/// Expected sum of `values` (by node) over all draws of elements and leaves.
double expected_of_draws(const Survey& survey, const Terms& terms, std::span<const double> values);

using LeafSet = std::vector<std::uint64_t>;  // ascending, each once
LeafSet all_leaves(const tensor::TensorType& type);

/// Whether the elements of a leaf are a call of their own: each comes from those at its place.
bool is_sliceable(const kernels::Operator& op, const kernels::Call& call, std::size_t output);

/// The elements that are computed for the question, of its output.
std::vector<std::int64_t> elements_asked(const Question& question, const kernels::Operator& op,
                                         const kernels::Call& call);
/// Where it lies in the output; none for kWhole.
LeafSet output_leaves(const Question& question, const tensor::TensorType& type);
/// The leaves of each input. `call` has those that steer (contents.hpp), and stand-ins for others.
std::vector<LeafSet> input_leaves(const Question& question, const kernels::Operator& op,
                                  const kernels::Call& call);

}  // namespace commensal::spot
