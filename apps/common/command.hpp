// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <commensal/base/core/result.hpp>
#include <functional>
#include <string_view>

namespace commensal::apps {

/// What a command does once its options are parsed. 0 or another exit status; an error is printed
/// as one line on stderr and exits with 1.
using Run = std::function<core::Result<int>()>;

/// A row of a program's table of commands (table.cpp).
struct Command {
  std::string_view name;
  std::string_view group;  // who uses it
  std::string_view brief;  // a few words for the program's own help
  std::string_view summary;
  std::string_view examples;  // one a line, shown by --help; a subcommand shows those that are its
  /// Declares options on `app`; the options must live in what the returned function holds.
  Run (*declare)(CLI::App& app);
};

}  // namespace commensal::apps
