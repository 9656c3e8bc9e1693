// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <commensal/lab/bench/report.hpp>
#include <commensal/lab/bench/statistics.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench {

using Json = nlohmann::ordered_json;

namespace {

Row row(std::string name, std::optional<double> limit, const std::vector<double>& values,
        std::string how, bool at_most) {
  return {std::move(name), median(values), quantile(values, 0.25), quantile(values, 0.75), limit,
          std::move(how),  at_most};
}

Json json_of(const Fields& fields) {
  Json made = Json::object();
  for (const Field& field : fields) {
    const std::string name(field.name);
    std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<std::decay_t<decltype(value)>, Fields>) {
            made[name] = json_of(value);
          } else {
            made[name] = value;
          }
        },
        field.value);
  }
  return made;
}

Json result_of(const Row& row) {
  return {{"name", row.name},
          {"value", row.value},
          {"low", row.low},
          {"high", row.high},
          {"how", row.how}};
}

bool is_bar(const Row& row) { return row.limit || row.is_bar; }

/// Rates have no use for decimals, ratios and shares for little else.
std::string number(double value) {
  return fmt::format("{:.{}f}", value, std::abs(value) < 100 ? 4 : 0);
}

std::string line_of(const Row& row) {
  const char* const mark = !row.limit ? "" : row.ok() ? "ok" : "MISS";
  const std::string limit =
      row.limit ? fmt::format("{} {}", row.at_most ? "<=" : ">=", number(*row.limit)) : "";
  const bool is_one = row.low == row.value && row.high == row.value;
  return fmt::format(
      "{:<4} {:<36} {:>9} {:<10}{}  ({})\n", mark, row.name, number(row.value), limit,
      is_one ? "" : fmt::format(" {} to {}", number(row.low), number(row.high)), row.how);
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

bool Report::ok() const { return faults.empty() && std::ranges::all_of(rows, &Row::ok); }

Report report_of(std::vector<Row> rows) {
  Report report;
  report.rows = std::move(rows);
  return report;
}

std::string to_text(const Report& report) {
  std::string text = report.tables;
  for (const Row& row : report.rows) {
    if (!is_bar(row) && report.tables.empty()) text += line_of(row);  // tables have it already
  }
  if (!report.notes.empty() || !report.faults.empty()) text += "\n";
  for (const std::string& fault : report.faults) text += fmt::format("WRONG: {}\n", fault);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  if (!text.empty()) text += "\n";
  for (const Row& row : report.rows) {
    if (is_bar(row)) text += line_of(row);
  }
  return text;
}

std::string to_json(const Report& report) {
  Json json = json_of(report.head);
  json["results"] = Json::array();
  for (const auto& [name, list] : report.lists) {
    Json& into = json[std::string(name)] = Json::array();
    for (const Fields& one : list) into.push_back(json_of(one));
  }
  if (report.lists.empty()) {
    for (const Row& row : report.rows) json["results"].push_back(result_of(row));
  }
  json["bars"] = Json::array();
  for (const Row& row : report.rows) {
    if (!is_bar(row)) continue;
    json["bars"].push_back({{"name", row.name},
                            {"value", row.value},
                            {"low", row.low},
                            {"high", row.high},
                            {"limit", row.limit ? Json(*row.limit) : Json()},
                            {"at_most", row.at_most},
                            {"ok", row.limit ? Json(row.ok()) : Json()},
                            {"over", row.how}});
  }
  json["faults"] = report.faults;
  json["notes"] = report.notes;
  return json.dump(2);
}

}  // namespace commensal::lab::bench
