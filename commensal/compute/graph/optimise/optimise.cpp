// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/graph/optimise/optimise.hpp>
#include <commensal/compute/graph/optimise/passes.hpp>

namespace commensal::graph::optimise {

namespace {

using Pass = void (*)(Rewriter&);
constexpr Pass kPasses[] = {
    bind_captures,          drop_identities,    fuse_steps,          fuse_attention,
    pack_products,          fuse_products,      absorb_pads,         block_channels,
    fuse_blocked_residuals, fuse_blocked_gates, fuse_blocked_bounds, fuse_expansions,
    chain_elementwise,      run_by_image,
};

}  // namespace

std::shared_ptr<const Graph> optimised(const Graph& graph,
                                       std::span<const tensor::TensorType> inputs,
                                       const kernels::ThreadPool* host, FoldBudget& budget) {
  auto known = known_of(graph, inputs, host, budget);
  if (!known) return nullptr;
  Rewriter rewriter(graph, *std::move(known));
  for (int i = 0; i < limits::kSubgraphDepthMax && inline_branches(rewriter); ++i) {
    const Graph flat = std::move(rewriter).take();
    known = known_of(flat, inputs, host, budget);
    if (!known) return nullptr;
    rewriter = Rewriter(flat, *std::move(known));
  }
  for (const Pass pass : kPasses) {
    if (host != nullptr) host->yield();
    pass(rewriter);
    rewriter.sweep();
  }
  return std::make_shared<const Graph>(std::move(rewriter).take());
}

std::shared_ptr<const Graph> optimised(const Graph& graph,
                                       std::span<const tensor::TensorType> inputs,
                                       const kernels::ThreadPool* host) {
  FoldBudget budget = FoldBudget::of(graph);
  return optimised(graph, inputs, host, budget);
}

}  // namespace commensal::graph::optimise
