// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/lab/bench/rows.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <nlohmann/json.hpp>
#include <utility>

namespace commensal::lab::bench {

using Json = nlohmann::ordered_json;

namespace {

Row row(std::string name, std::optional<double> limit, const std::vector<double>& values,
        std::string how, bool at_most) {
  return {std::move(name), median(values), quantile(values, 0.25), quantile(values, 0.75), limit,
          std::move(how),  at_most};
}

}  // namespace

Row row_at_least(std::string name, std::optional<double> limit, std::vector<double> values,
                 std::string how) {
  return row(std::move(name), limit, values, std::move(how), false);
}

Row row_at_most(std::string name, std::optional<double> limit, std::vector<double> values,
                std::string how) {
  return row(std::move(name), limit, values, std::move(how), true);
}

std::string rows_text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    // Rates have no use for decimals, shares for little else.
    const int digits = row.at_most || row.value <= 1 ? 4 : 0;
    const std::string limit =
        row.limit ? fmt::format("{} {:.{}f}", row.at_most ? "<=" : ">=", *row.limit, digits) : "";
    text +=
        fmt::format("{:<4} {:<36} {:>9.{}f} {:<10} quartiles {:.{}f} to {:.{}f}  ({})\n",
                    !row.limit ? ""
                    : row.ok() ? "ok"
                               : "MISS",
                    row.name, row.value, digits, limit, row.low, digits, row.high, digits, row.how);
  }
  return text;
}

std::string rows_json(const std::vector<Row>& rows) {
  Json json = {{"results", Json::array()}, {"bars", Json::array()}};
  for (const Row& row : rows) {
    json["results"].push_back({{"name", row.name},
                               {"value", row.value},
                               {"low", row.low},
                               {"high", row.high},
                               {"how", row.how}});
    if (!row.limit) continue;
    json["bars"].push_back({{"name", row.name},
                            {"value", row.value},
                            {"limit", *row.limit},
                            {"at_most", row.at_most},
                            {"ok", row.ok()},
                            {"over", row.how}});
  }
  return json.dump(2);
}

}  // namespace commensal::lab::bench
