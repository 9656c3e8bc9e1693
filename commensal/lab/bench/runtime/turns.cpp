// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <commensal/lab/bench/runtime/turns.hpp>
#include <thread>

namespace commensal::lab::bench {

using core::Result;

namespace {

using Blocks = std::vector<std::vector<Timing>>;

constexpr int kBlockRunsMin = 4, kBlockRunsMax = 200;
// The threads of ONNX Runtime spin for some 40 ms after a run: the other side must not pay for it.
constexpr std::chrono::milliseconds kRest{60};

// How many runs of the slower side fill a block.
Result<int> block_runs(Pair& pair, double block_s) {
  double slower = 1e-6;
  for (Runner* runner : {&pair.ours, &pair.theirs}) {
    COMMENSAL_ASSIGN(const auto timings, runner->run(2));
    slower = std::max(slower, timings.back().seconds);
  }
  return std::clamp(static_cast<int>(block_s / slower), kBlockRunsMin, kBlockRunsMax);
}

Result<void> add_block(Runner& runner, int runs, Blocks& blocks) {
  std::this_thread::sleep_for(kRest);
  COMMENSAL_ASSIGN(auto timings, runner.run(runs + 1));
  timings.erase(timings.begin());
  blocks.push_back(std::move(timings));
  return {};
}

// `repeats` more blocks of each side.
Result<void> add_blocks(Pair& pair, int threads, int repeats, int runs, Blocks& ours,
                        Blocks& theirs) {
  const int before = static_cast<int>(ours.size());
  for (int i = before; i < before + repeats; ++i) {
    // One of the processors may be slower, by what its machine does beside: both share each.
    if (threads == 1) {
      for (Runner* runner : {&pair.ours, &pair.theirs}) runner->keep_to_one_cpu(i);
    }
    const auto ours_turn = [&] { return add_block(pair.ours, runs, ours); };
    const auto theirs_turn = [&] { return add_block(pair.theirs, runs, theirs); };
    COMMENSAL_TRY(i % 2 == 0 ? ours_turn() : theirs_turn());
    COMMENSAL_TRY(i % 2 == 0 ? theirs_turn() : ours_turn());
  }
  return {};
}

}  // namespace

Result<Compared> take_turns(Pair& pair, int threads, const Turns& turns) {
  COMMENSAL_ASSIGN(const int runs, block_runs(pair, turns.block_s));
  Blocks ours, theirs;
  Compared made;
  do {
    COMMENSAL_TRY(add_blocks(pair, threads, turns.repeats, runs, ours, theirs));
    made.ours = settle(ours, threads);
    made.theirs = settle(theirs, threads);
    made.ratio = ratio_of(made.ours, made.theirs);
  } while (!made.ratio.steady() && std::ssize(ours) < turns.rounds_max * turns.repeats);
  return made;
}

}  // namespace commensal::lab::bench
