// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/statistics.hpp>
#include <commensal/lab/pay_bench/pay_bench.hpp>
#include <nlohmann/json.hpp>
#include <set>

namespace commensal::lab {

using Json = nlohmann::ordered_json;

PayRow pay_row(std::string name, double limit, std::vector<double> rates, std::string how) {
  return {std::move(name),       median(rates), quantile(rates, 0.25),
          quantile(rates, 0.75), limit,         std::move(how)};
}

core::Result<std::vector<PayRow>> run_pay_bench(const PayBenchOptions& options,
                                                const core::Clock& clock) {
  std::vector<PayRow> rows;
  std::set<std::size_t> batches = {1, 4, 64, options.batch};
  for (const std::size_t batch : batches) {
    COMMENSAL_ASSIGN(rows.emplace_back(), bench_tickets(options, batch, clock));
  }
  COMMENSAL_ASSIGN(rows.emplace_back(), bench_ledger(options, clock));
  return rows;
}

std::string pay_text(const std::vector<PayRow>& rows) {
  std::string text;
  for (const PayRow& row : rows) {
    text += fmt::format("{:<4} {:<36} {:>9.0f} >= {:<7.0f} quartiles {:.0f}-{:.0f}  ({})\n",
                        row.ok() ? "ok" : "MISS", row.name, row.value, row.limit, row.low, row.high,
                        row.how);
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
                            {"ok", row.ok()},
                            {"over", row.how}});
  }
  return json.dump(2);
}

}  // namespace commensal::lab
