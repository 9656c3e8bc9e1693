// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/runtime/bench.hpp>

namespace commensal::lab::bench {

/// Lists "results", "loads" and "geomeans"; times in milliseconds, memory in bytes.
Report report_of(const Comparison& comparison);

}  // namespace commensal::lab::bench
