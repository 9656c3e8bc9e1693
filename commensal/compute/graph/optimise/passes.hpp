// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/graph/optimise/rewriter.hpp>

/// One pass each; optimise.cpp has their order.
namespace commensal::graph::optimise {

/// Whether there was one: then types are to be inferred anew, and may make another known.
bool inline_branches(Rewriter& rewriter);  // branches.cpp: before all others
void bind_captures(Rewriter& rewriter);
void drop_identities(Rewriter& rewriter);         // identities.cpp
void absorb_pads(Rewriter& rewriter);             // pads.cpp
void block_channels(Rewriter& rewriter);          // layout.cpp
void fuse_blocked_residuals(Rewriter& rewriter);  // layout_fusion.cpp
void fuse_blocked_gates(Rewriter& rewriter);
void fuse_blocked_bounds(Rewriter& rewriter);
void fuse_expansions(Rewriter& rewriter);    // expand_fusion.cpp
void chain_elementwise(Rewriter& rewriter);  // chains.cpp: when nobody looks for patterns any more
void run_by_image(Rewriter& rewriter);       // images.cpp: the last one
void fuse_attention(Rewriter& rewriter);     // attention.cpp
void fuse_steps(Rewriter& rewriter);         // steps.cpp: LayerNormalization, Gelu

void pack_products(Rewriter& rewriter);  // products.cpp
void fuse_products(Rewriter& rewriter);

}  // namespace commensal::graph::optimise
