// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/runner.hpp>

/// By which clock a runtime that is driven from another language is timed, and whether that tells
/// what it takes.
namespace commensal::lab::bench {

/// The language's clock less the language's share, as long as that is at most a third of a run:
/// more cannot be taken off. Else the runtime's own.
Clock clock_for(const Loading& loading);

/// Why the clock chosen tells nothing; empty: it does. The runtime's own reads too much by what its
/// profiler takes; without it a run takes at least what its operators do. Where the two are further
/// apart than a third of the latter, nothing is known.
std::string doubt_of(const Loading& loading);

/// The same of what was measured with Clock::kNet.
std::string doubt_of(const Side& theirs);

/// The language's of a run.
double share_of(const Side& theirs);

}  // namespace commensal::lab::bench
