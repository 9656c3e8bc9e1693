// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/result.hpp>
#include <functional>
#include <span>
#include <string_view>

namespace commensal::apps {

/// What a command does once its options are parsed. 0 or another exit status; an error is printed
/// as one line on stderr and exits with 1.
using Run = std::function<core::Result<int>()>;

/// A row of the table of commands (table.cpp).
struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;  // one a line, shown by --help
  /// Declares options on `app`; the options must live in what the returned function holds.
  Run (*declare)(CLI::App& app);
};

std::span<const Command> command_table();

}  // namespace commensal::apps
