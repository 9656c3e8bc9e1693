// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <apps/common/command.hpp>
#include <apps/common/completion.hpp>
#include <apps/common/settings.hpp>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace commensal::apps {

/// What a program of commands is made of.
struct Program {
  std::string_view name;
  std::string_view purpose;  // one line
  std::string_view version;
  std::span<const Command> commands;  // those of a group stand together; without kOwnCommands
  bool has_settings = false;          // options follow files: settings.hpp
};

/// What every program has besides.
inline constexpr std::string_view kEverybody = "Everybody";
inline constexpr Command kOwnCommands[] = {
    {"help", kEverybody, "show options and examples",
     "Show what a command is for, its options and examples", "help", nullptr},
    {"version", kEverybody, "of this program", "Print the version", "version", nullptr},
    {"completion", kEverybody, "for bash, zsh, fish",
     "Print what a shell completes this program's commands and options by", "completion bash",
     declare_completion},
};

/// A program's commands, declared. Not for several threads.
class CommandLine {
 public:
  explicit CommandLine(const Program& program);

  /// `arguments` without the program's name; `help` and `version` are commands as well. Prints, and
  /// returns the exit status. What is not said follows the files in `places`; commands that are
  /// about the program itself do not look at them.
  int run(std::vector<std::string> arguments, const SettingsPlaces& places = {});

  CLI::App& app() { return app_; }

 private:
  using Applied = std::vector<std::pair<const CLI::Option*, FoundSetting>>;
  int usage_error(std::string_view message, std::span<const std::string> given) const;
  int parse_and_run(std::vector<std::string> arguments, const Applied& applied);

  const Program& program_;
  CLI::App app_;
  std::map<const CLI::App*, Run> runs_;
};

/// For main().
int run_program(const Program& program, int argc, char** argv);

}  // namespace commensal::apps
