// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/pay/pay_bench.hpp>
#include <set>

namespace commensal::lab::bench::pay {

core::Result<Report> run_pay_bench(const PayBenchOptions& options, const core::Clock& clock) {
  std::vector<bench::Row> rows;
  std::set<std::size_t> batches = {1, 4, 64, options.batch};
  for (const std::size_t batch : batches) {
    COMMENSAL_ASSIGN(rows.emplace_back(), bench_tickets(options, batch, clock));
  }
  COMMENSAL_ASSIGN(rows.emplace_back(), bench_ledger(options, clock));
  if (options.model.empty()) return report_of(std::move(rows));
  COMMENSAL_ASSIGN(auto shares, bench_provider(options, clock));
  std::ranges::move(shares, std::back_inserter(rows));
  return report_of(std::move(rows));
}

}  // namespace commensal::lab::bench::pay
