// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/report.hpp>

/// What money costs: tickets checked, entries made durable.
namespace commensal::lab::bench::pay {

struct PayBenchOptions {
  core::Path folder;        // for the ledger's database; emptied by who made it
  int repeats = 9;          // of each measurement
  std::size_t group = 256;  // entries in one write of the ledger
  std::size_t groups = 20;  // writes in one repeat
  std::size_t batch = 16;   // receipts under one signature, of the row that has a limit
  core::Path model;         // SqueezeNet 1.1, for what a provider spends; empty: left out
  int rounds = 15;          // of slices, there
};

/// Entries per second that are on disk: signed transactions (ECDSA, recovered as ever), each one
/// checked, applied and written to SQLite in groups, fsync after every group. Errors: the store's.
core::Result<bench::Row> bench_ledger(const PayBenchOptions& options, const core::Clock& clock);

/// Claims per second that one thread checks: both signatures of the receipt, reveals, opening,
/// draw; `batch` receipts share a signature of each side, which is recovered once. The row with
/// options.batch has the limit. Errors: none.
core::Result<bench::Row> bench_tickets(const PayBenchOptions& options, std::size_t batch,
                                       const core::Clock& clock);

/// What receipts and tickets add to a request on options.model (bench/overhead), as shares of plain
/// execution. Errors: those of measure_overhead.
core::Result<std::vector<bench::Row>> bench_provider(const PayBenchOptions& options,
                                                     const core::Clock& clock);

/// All rows. Errors: theirs.
core::Result<Report> run_pay_bench(const PayBenchOptions& options, const core::Clock& clock);

}  // namespace commensal::lab::bench::pay
