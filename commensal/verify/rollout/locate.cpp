// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/verify/receipt/roots.hpp>
#include <commensal/verify/rollout/locate.hpp>

namespace commensal::rollout {

void NodeRoots::after_node(const graph::Node& node, const kernels::Call&,
                           std::span<const tensor::Tensor> outputs) {
  crypto::Sha256 hash = crypto::begin_tagged_hash("commensal/node/v1");
  for (const tensor::Tensor& output : outputs) {
    hash.update(output.defined() ? receipt::tensor_root(output) : core::Digest{});
  }
  roots_.push_back({node.name, hash.finish()});
}

std::optional<std::size_t> first_difference(const std::vector<NodeRoot>& ours,
                                            const std::vector<NodeRoot>& theirs) {
  const auto [one, other] = std::ranges::mismatch(ours, theirs);
  if (one == ours.end() && other == theirs.end()) return std::nullopt;
  return static_cast<std::size_t>(one - ours.begin());
}

}  // namespace commensal::rollout
