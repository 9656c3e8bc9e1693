// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/serve/worker/inside.hpp>
#include <string_view>

/// A worker as it would be if a model had taken it over: for tests only.
namespace commensal::worker::testing {

/// The arguments that make the tests' program such a worker, one with a pacer that holds it while
/// its parent's page begins with 0, or a parent whose worker loops.
inline constexpr std::string_view kHostileWord = "hostile-worker";
inline constexpr std::string_view kPacedWord = "paced-worker";
inline constexpr std::string_view kParentWord = "parent";

/// What it does in the place of a run whose step is this number, or whose first input, of float32,
/// begins with it. Of all others it is honest.
enum class Deed : int {
  kSegfault = 1000,
  kAbort,
  kEndQuietly,
  kTakeMemory,   // of the heap, without end
  kMapMemory,    // pages, without the heap
  kShareMemory,  // pages that no limit would count
  kGrowStack,    // nor these, which are a stack's
  kHideMemory,   // nor those that are not written any more
  kMoveStack,    // to where it is larger than its data may be
  kStartThreads,
  kLoop,   // never yields
  kSleep,  // nor uses the processor
  kOpen,
  kSocket,
  kExecute,
  kFork,
  kTrace,
  kKillParent,
  kMakeCode,
  kOutlive,  // clears the signal that ends it with its parent
  kRaiseLimit,
  kFewOutputs,
  kHugeOutputs,   // says so, and sends none
  kBreakRing,     // its place is beyond the ring
  kWrongMessage,  // of a kind that is none
  kHugeHead,
  kFlood,  // wakes its parent without end
  kAsk,    // for packed weights, without end
  // Here it answers as it should:
  kLoopLater,  // and uses the processor afterwards
  // What it says of disputes only; its setup's time for a move is the number:
  kArgueNoise,  // a move that is none
  kArgueLong,   // a move beyond its bound
  kArgueHuge,   // a head beyond its bound
  kArgueOther,  // a claim about another receipt
  kArgueRun,    // an answer to something else
  kEnd,
};

/// What each of them does.
int work_hostile();
int work_paced();
int be_parent(const core::Path& model);

}  // namespace commensal::worker::testing
