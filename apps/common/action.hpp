// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <apps/common/nearest.hpp>
#include <commensal/base/core/result.hpp>
#include <span>
#include <vector>

namespace commensal::apps {

/// The row of that name. Error: kInvalidArgument, with the names that there are.
template <class Action>
core::Result<const Action*> find_action(std::span<const Action> rows, std::string_view name) {
  const auto row = std::ranges::find(rows, name, &Action::name);
  if (row != rows.end()) return &*row;
  std::vector<std::string> names;
  for (const Action& one : rows) names.emplace_back(one.name);
  const std::string meant = nearest(name, names);
  return core::fail(core::ErrorCode::kInvalidArgument, "no action '{}'{}; there are {}", name,
                    meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant),
                    fmt::join(names, ", "));
}

}  // namespace commensal::apps
