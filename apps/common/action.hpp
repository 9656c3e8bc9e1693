// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
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

/// These are what shells complete the option by, once all else is said of it. Help stays as it was,
/// and who checks them is find_action(), which has better words for that.
template <class Action>
void offer_actions(CLI::Option& option, std::span<const Action> rows) {
  std::vector<std::string_view> names;
  for (const Action& one : rows) names.push_back(one.name);
  const std::string usual = option.get_default_str();
  option.option_text(option.get_type_name() + (usual.empty() ? "" : "=" + usual) +
                     (option.get_required() ? " REQUIRED" : ""));
  option.check(CLI::Validator([](std::string&) { return std::string(); },
                              fmt::format("{{{}}}", fmt::join(names, ","))));
}

}  // namespace commensal::apps
