// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/pay_bench/pay_bench.hpp>
#include <nlohmann/json.hpp>
#include <set>

namespace commensal::lab {

using Json = nlohmann::ordered_json;

PayRow pay_row(std::string name, double limit, std::vector<double> rates, std::string how) {
  return {std::move(name), median(rates), quantile(rates, 0.25), quantile(rates, 0.75), limit,
          std::move(how),  false};
}

core::Result<std::vector<PayRow>> run_pay_bench(const PayBenchOptions& options,
                                                const core::Clock& clock) {
  std::vector<PayRow> rows;
  std::set<std::size_t> batches = {1, 4, 64, options.batch};
  for (const std::size_t batch : batches) {
    COMMENSAL_ASSIGN(rows.emplace_back(), bench_tickets(options, batch, clock));
  }
  COMMENSAL_ASSIGN(rows.emplace_back(), bench_ledger(options, clock));
  if (options.model.empty()) return rows;
  COMMENSAL_ASSIGN(auto shares, bench_provider(options, clock));
  std::ranges::move(shares, std::back_inserter(rows));
  return rows;
}

std::string pay_text(const std::vector<PayRow>& rows) {
  std::string text;
  for (const PayRow& row : rows) {
    // Rates have no use for decimals, shares for little else.
    const int digits = row.at_most ? 4 : 0;
    text += fmt::format("{:<4} {:<36} {:>9.{}f} {} {:<7.{}f} quartiles {:.{}f} to {:.{}f}  ({})\n",
                        row.ok() ? "ok" : "MISS", row.name, row.value, digits,
                        row.at_most ? "<=" : ">=", row.limit, digits, row.low, digits, row.high,
                        digits, row.how);
  }
  return text;
}

std::string pay_json(const std::vector<PayRow>& rows) {
  Json json = {{"results", Json::array()}, {"bars", Json::array()}};
  for (const PayRow& row : rows) {
    json["results"].push_back({{"name", row.name},
                               {"value", row.value},
                               {"low", row.low},
                               {"high", row.high},
                               {"how", row.how}});
    json["bars"].push_back({{"name", row.name},
                            {"value", row.value},
                            {"limit", row.limit},
                            {"at_most", row.at_most},
                            {"ok", row.ok()},
                            {"over", row.how}});
  }
  return json.dump(2);
}

}  // namespace commensal::lab
