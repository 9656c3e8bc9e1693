// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// What benchmarks print that measure several things, each against a limit of its own.
namespace commensal::lab::bench {

/// One figure: the median over repeats, and between which values the middle half of them lies.
struct Row {
  std::string name;  // with its unit last
  double value = 0;
  double low = 0, high = 0;
  std::optional<double> limit;  // that the project sets itself, where it does
  std::string how;              // what was done, with its sizes
  bool at_most = false;         // what the limit is: the most, or the least
  bool ok() const { return !limit || (at_most ? value <= *limit : value >= *limit); }
};

/// Of `values`, not empty; the limit is the least that they may have, or the most.
Row row_at_least(std::string name, std::optional<double> limit, std::vector<double> values,
                 std::string how);
Row row_at_most(std::string name, std::optional<double> limit, std::vector<double> values,
                std::string how);

std::string rows_text(const std::vector<Row>& rows);
/// {"results": [...], "bars": [...]}, as `bench runtime` prints it: bars are the rows with a limit,
/// "at_most" says which way it goes.
std::string rows_json(const std::vector<Row>& rows);

}  // namespace commensal::lab::bench
