// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/lab/bench/promise/trace.hpp>
#include <commensal/lab/bench/report.hpp>

namespace commensal::lab::bench::promise {

struct PromiseBenchOptions {
  int seeds = 4;
  double hours = 5;  // of each run; two at least
  std::uint64_t first_seed = 1;
  std::vector<core::Path> traces;
};

/// Runs the governor beside every kind of host (those of which it is known that they lose more,
/// apart), beside recorded ones, beside steady ones with 3 % of noise in four seconds whose guests
/// cost 0.2 to 5 %, and two hours beside such ones whose cost changed overnight: how many hours are
/// kept, what is lost, and what is harvested of half the promise. Errors: read_trace()'s.
core::Result<Report> run_promise_bench(const PromiseBenchOptions& options);

}  // namespace commensal::lab::bench::promise
