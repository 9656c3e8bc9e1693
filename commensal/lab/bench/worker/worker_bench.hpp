// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>

/// What it costs that models run in processes of their own.
namespace commensal::lab::bench::worker {

struct WorkerBenchOptions {
  core::Path large;  // ResNet-50
  core::Path small;  // the digit network
  int threads = 1;
  int rounds = 15;        // of each measurement
  int large_runs = 6;     // of each side in a round
  int small_runs = 2000;  // likewise
};

/// Runs each network in a thread of this process and in a process of its own, in turn, run by run:
/// the latency of the second over that of the first, and what is between them. This program must be
/// able to be a worker (serve/worker/inside.hpp). Errors: those of the engines.
core::Result<Report> run_worker_bench(const WorkerBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::worker
