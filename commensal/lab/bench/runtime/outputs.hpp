// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/turns.hpp>

namespace commensal::lab::bench {

/// Where the answers of the two to the loaded model differ by more than two right runtimes may: one
/// line, or nothing. Types and shapes are equal, whole numbers too; of floats, elements differ by
/// at most `of_largest` of the largest. Errors: those of Runner and of files.
core::Result<std::string> difference_of(Pair& pair, const core::Path& folder,
                                        double of_largest = 1e-3);

}  // namespace commensal::lab::bench
