// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What every measurement of the laboratory prints: results, and the limits that it is held to.
namespace commensal::lab::bench {

/// One figure: the median over repeats, and between which values the middle half of them lies.
struct Row {
  std::string name;  // with its unit last
  double value = 0;
  double low = 0, high = 0;
  std::optional<double> limit{};  // that the project sets itself, where it does
  std::string how{};              // what was done or taken together, with its sizes
  bool at_most = false;           // what the limit is: the most, or the least
  bool is_bar = false;            // shown among the bars although it has no limit
  bool ok() const { return !limit || (at_most ? value <= *limit : value >= *limit); }
};

/// Of `values`, not empty; the limit is the least that they may have, or the most.
Row row_at_least(std::string name, std::optional<double> limit, std::vector<double> values,
                 std::string how);
Row row_at_most(std::string name, std::optional<double> limit, std::vector<double> values,
                std::string how);

/// A result with columns of its own: named values, in order. What is not finite is printed as null.
struct Field;
using Fields = std::vector<Field>;
struct Field {
  std::string_view name;  // a literal
  std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<double>, Fields>
      value;
};

struct Report {
  Fields head{};  // what was asked for
  /// "results", and more of that kind; where there are none, all figures are the results.
  std::vector<std::pair<std::string_view, std::vector<Fields>>> lists{};
  std::vector<Row> rows{};            // figures; those with a limit or so marked are the bars
  std::vector<std::string> faults{};  // what was refused or wrong: with one nothing is ok
  std::vector<std::string> notes{};
  std::string tables{};  // for people

  bool ok() const;
};
Report report_of(std::vector<Row> rows);

/// Tables, then figures, notes and bars, a line each.
std::string to_text(const Report& report);
/// {..., "results": [...], "bars": [{"name", "value", "low", "high", "limit", "at_most", "ok",
/// "over"}], "faults": [...], "notes": [...]}; limit and ok are null where there is none.
std::string to_json(const Report& report);

}  // namespace commensal::lab::bench
