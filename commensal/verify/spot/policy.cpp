// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/verify/spot/dice.hpp>
#include <commensal/verify/spot/policy.hpp>

namespace commensal::spot {
namespace {

constexpr double kLeafBytes = crypto::kMerkleLeafBytes;
constexpr double kProofShare = 0.1;      // siblings, beside the leaves that they prove
constexpr double kListBytesPerNode = 96;  // of the operator roots

}  // namespace

double replay_share_of(const Mix& mix) {
  if (std::isnan(mix.replay_share)) return 1;
  return std::clamp(mix.replay_share, kReplayShareMin, 1.0);
}

Estimate estimate(const graph::Graph& graph, const Survey& survey, const Terms& terms) {
  std::vector<double> opened, steps;  // by node, of one question
  for (const Spot& spot : survey.nodes) {
    opened.push_back(static_cast<double>(spot.opened));
    steps.push_back(static_cast<double>(spot.work) /
                    static_cast<double>(std::max<std::uint64_t>(spot.elements, 1)));
  }
  double leaves = expected_of_draws(survey, terms, opened);
  double whole = 0;  // bytes
  for (std::size_t n = 0; n < survey.nodes.size(); ++n) {
    const bool is_elementwise = graph.nodes[n].op->kind == kernels::Kind::kElementwise;
    if (!terms.all_elementwise || !is_elementwise) continue;
    for (const graph::ValueId id : graph.nodes[n].inputs) {
      const auto& type = survey.known.types[static_cast<std::size_t>(std::max(id, 0))];
      if (id != graph::kAbsent && type) whole += static_cast<double>(type->bytes());
    }
  }
  if (!terms.holds_weights) leaves *= 2;
  Estimate made;
  made.sublinear_bytes = (leaves * kLeafBytes + whole) * (1 + kProofShare) +
                         kListBytesPerNode * static_cast<double>(survey.nodes.size());
  made.sublinear_work = made.sublinear_bytes * kWorkPerHashedByte +
                        expected_of_draws(survey, terms, steps);
  made.replay_bytes = static_cast<double>(survey.input_bytes) +
                      (terms.holds_weights ? 0 : static_cast<double>(survey.weight_bytes));
  made.replay_work =
      static_cast<double>(survey.work) + made.replay_bytes * kWorkPerHashedByte;
  return made;
}

bool is_sublinear(const Estimate& estimate, const Mix& mix, const Digest& seed) {
  if (!estimate.saves()) return false;
  Dice dice("commensal/audit-method/v1", seed);
  return static_cast<double>(dice.next() >> 11) * 0x1p-53 >= replay_share_of(mix);
}

double expected_share(double audit_probability, const Mix& mix, double replay, double sublinear) {
  const double share = replay_share_of(mix);
  return audit_probability * (share * replay + (1 - share) * sublinear);
}

}  // namespace commensal::spot
