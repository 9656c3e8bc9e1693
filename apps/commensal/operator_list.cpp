// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/commensal/operator_list.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace commensal::apps {
namespace {

std::string name_of(kernels::Kind kind) {
  switch (kind) {
    case kernels::Kind::kElementwise:
      return "elementwise";
    case kernels::Kind::kMovement:
      return "movement";
    case kernels::Kind::kDotProduct:
      return "dot product";
    case kernels::Kind::kReduction:
      return "reduction";
    case kernels::Kind::kConstant:
      return "constant";
    case kernels::Kind::kStructure:
      return "structure";
  }
  return "";
}

bool belongs_to(const OperatorEntry& entry, const kernels::Operator& row) {
  return entry.name == row.name && entry.domain == (row.domain.empty() ? "ai.onnx" : row.domain);
}

/// "**Add** 1": fast since opset 1. "Scatter 9-10 text": on strings too, until opset 10.
std::string markdown_of(const OperatorEntry& entry) {
  const std::string_view bold = entry.is_fast ? "**" : "";
  return fmt::format("{0}{1}{0} {2}{3}{4}", bold, entry.name, entry.since,
                     entry.until == 0 ? "" : fmt::format("-{}", entry.until),
                     entry.takes_strings ? " text" : "");
}

}  // namespace

std::vector<OperatorEntry> operator_list() {
  std::vector<OperatorEntry> list;
  for (const kernels::Operator& row : kernels::model_operators()) {
    const auto known = std::ranges::find_if(
        list, [&row](const OperatorEntry& entry) { return belongs_to(entry, row); });
    const bool is_new = known == list.end();
    OperatorEntry& entry = is_new ? list.emplace_back() : *known;
    if (is_new) {
      entry.domain = row.domain.empty() ? "ai.onnx" : row.domain;
      entry.name = row.name;
      entry.since = row.since;
    }
    // Rows are in the order of their opsets: the newest has the last word.
    entry.until = row.until;
    entry.is_fast = row.fast() != nullptr && !row.is_plain();
    entry.takes_strings = row.strings != kernels::Strings::kRefused;
    entry.kind = name_of(row.kind);
  }
  std::ranges::sort(list, {},
                    [](const OperatorEntry& entry) { return std::tie(entry.domain, entry.name); });
  return list;
}

std::string operator_markdown() {
  std::map<std::pair<std::string, std::string>, std::string> rows;  // by domain and kind
  for (const OperatorEntry& entry : operator_list()) {
    std::string& row = rows[{entry.domain, entry.kind}];
    row += (row.empty() ? "" : ", ") + markdown_of(entry);
  }
  std::string text = "| domain | kind | operators |\n|---|---|---|\n";
  for (const auto& [group, row] : rows) {
    text += fmt::format("| {} | {} | {} |\n", group.first, group.second, row);
  }
  return text;
}

}  // namespace commensal::apps
