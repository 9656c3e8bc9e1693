// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/verify/arbiter/referee.hpp>
#include <commensal/verify/receipt/replay.hpp>
#include <optional>
#include <vector>

namespace commensal::rollout {

using arbiter::Said;

/// Where a dispute about one step stands, for one of its sides.
struct Argument {
  arbiter::Setup setup;
  arbiter::Side side = arbiter::Side::kProvider;
  receipt::Values inputs;   // of the step, noise included, in the graph's order
  std::vector<Said> moves;  // all so far, in the order in which they were accepted
};

/// What that side says next.
struct Counsel {
  core::Digest output_root{};       // by its own run: whether it stands by what it signed
  std::optional<core::Bytes> move;  // encoded, not signed (arbiter::sign_move); none where none is
                                    // owed
};

/// That the argument is one that engines take: within the bounds of limits::kDispute...
/// Error: kResourceExhausted.
core::Result<void> check_bounds(const Argument& argument);

/// That a counsel from one who is not believed speaks for this side of this dispute and of nothing
/// else: it may be signed. Whether it is in order and true the arbiter decides.
/// Error: kDataLoss.
core::Result<void> check_counsel(const Argument& argument, const Counsel& counsel);

}  // namespace commensal::rollout
