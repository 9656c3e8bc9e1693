// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>
#include <vector>

namespace commensal::lab::bench::serve {

struct ServeBenchOptions {
  core::Path folder;  // for state, on the disk that is to be measured
  std::vector<std::size_t> concurrency = {1, 8, 64, 256};
  int rounds = 7;  // slices of each party, in an order that changes
  std::int64_t slice_ms = 2'000;
  std::size_t at_once = 64;  // requests that a provider may join in one run
};

/// Triton's `simple` (two rows of 16 int32, their sum and difference) over gRPC on one machine: the
/// rates of a gateway and its provider, of the same without receipts, and of the floor, gRPC alone
/// over the same two hops (echo.hpp), asked by one client with identical payloads, in turn.
/// Starts processes: call it before this one has threads. Errors: those of the parties.
core::Result<Report> run_serve_bench(const ServeBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::serve
