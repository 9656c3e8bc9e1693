// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/clock.hpp>
#include <commensal/base/core/file.hpp>
#include <string>
#include <vector>

/// What money costs: tickets checked, entries made durable.
namespace commensal::lab {

/// One figure: the median over repeats, and between which values the middle half of them lies.
struct PayRow {
  std::string name;  // with its unit last
  double value = 0;
  double low = 0, high = 0;
  double limit = 0;  // the least that the project asks of itself
  std::string how;   // what was done, with its sizes
  bool ok() const { return value >= limit; }
};

struct PayBenchOptions {
  core::Path folder;        // for the ledger's database; emptied by who made it
  int repeats = 9;          // of each measurement
  std::size_t group = 256;  // entries in one write of the ledger
  std::size_t groups = 20;  // writes in one repeat
  std::size_t batch = 16;   // receipts under one signature, of the row that has a limit
};

/// Entries per second that are on disk: signed transactions (ECDSA, recovered as ever), each one
/// checked, applied and written to SQLite in groups, fsync after every group. Errors: the store's.
core::Result<PayRow> bench_ledger(const PayBenchOptions& options, const core::Clock& clock);

/// Claims per second that one thread checks: both signatures of the receipt, reveals, opening,
/// draw; `batch` receipts share a signature of each side, which is recovered once. The row with
/// options.batch has the limit. Errors: none.
core::Result<PayRow> bench_tickets(const PayBenchOptions& options, std::size_t batch,
                                   const core::Clock& clock);

/// All rows. Errors: theirs.
core::Result<std::vector<PayRow>> run_pay_bench(const PayBenchOptions& options,
                                                const core::Clock& clock);

std::string pay_text(const std::vector<PayRow>& rows);
/// {"results": [...], "bars": [...]}, as `bench runtime` prints it; these bars are lower bounds.
std::string pay_json(const std::vector<PayRow>& rows);

/// Of `rates`, not empty.
PayRow pay_row(std::string name, double limit, std::vector<double> rates, std::string how);

}  // namespace commensal::lab
