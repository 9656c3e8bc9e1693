// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/runner.hpp>

/// Two runtimes with a model loaded, measured in turn.
namespace commensal::lab::bench {

struct Pair {
  Runner ours, theirs;
};

struct Turns {
  int repeats = 9;  // blocks of each side
  double block_s = 0.1;
  int rounds_max = 3;
};

struct Compared {
  Side ours, theirs;
  Ratio ratio;
};

/// A block is as many runs as take about `block_s`, at least four, and one more, which warms the
/// caches and is left out. Blocks of the two sides take turns, each side first in every other one
/// of them all, with rests in between in which threads that spin after a run come to sleep. What is
/// not steady after `repeats` blocks of each side gets as many again, until there were `rounds_max`
/// times as many: its spread decides, never its ratio. Errors: those of Runner.
core::Result<Compared> take_turns(Pair& pair, int threads, const Turns& turns);

}  // namespace commensal::lab::bench
