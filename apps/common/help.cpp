// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/help.hpp>

namespace commensal::apps {
namespace {

constexpr std::size_t kCellColumns = 40;          // of a command on the front page
constexpr std::size_t kDescriptionColumn = 30;    // where CLI11 begins to describe an option
constexpr std::size_t kExampleIndentColumns = 6;  // of what an example goes on with

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// Adds `line` to `text`, broken at spaces: what follows is indented, `mark` says that it does.
void add_broken(std::string& text, std::string_view line, std::size_t indent,
                std::string_view mark) {
  std::string rest(line);
  while (rest.size() > kHelpColumnsMax) {
    const std::size_t at = rest.rfind(' ', kHelpColumnsMax - mark.size());
    if (at == std::string::npos || rest.find_first_not_of(' ') > at) break;
    text += rest.substr(0, at) + std::string(mark) + "\n";
    rest = std::string(indent, ' ') + rest.substr(at + 1);
  }
  text += rest;
}

}  // namespace

std::string front_page(const Program& program) {
  std::string text =
      fmt::format("{}\n{} COMMAND [OPTIONS]; help COMMAND shows options and examples\n",
                  program.purpose, program.name);
  std::string_view group;
  bool is_left = true;
  std::vector<Command> commands(program.commands.begin(), program.commands.end());
  commands.insert(commands.end(), std::begin(kOwnCommands), std::end(kOwnCommands));
  for (const Command& command : commands) {
    if (command.name == "help") continue;  // the line above has it
    if (command.group != group) {
      group = command.group;
      text += fmt::format("{}{}\n", is_left ? "" : "\n", group);
      is_left = true;
    }
    const std::string cell = fmt::format("  {:<11} {}", command.name, command.brief);
    text += is_left ? cell + std::string(kCellColumns - std::min(kCellColumns, cell.size()), ' ')
                    : cell + "\n";
    is_left = !is_left;
  }
  if (!is_left) text += "\n";
  std::string trimmed;
  for (std::string_view line : lines_of(text)) {
    const std::size_t end = line.find_last_not_of(' ');
    trimmed += std::string(line.substr(0, end == std::string_view::npos ? 0 : end + 1)) + "\n";
  }
  trimmed.pop_back();
  return trimmed;
}

std::string wrapped(std::string_view text) {
  std::string result;
  for (const std::string_view line : lines_of(text)) {
    if (!result.empty() || line.data() != text.data()) result += "\n";
    const bool describes = line.starts_with("  ");
    add_broken(result, line, describes ? kDescriptionColumn : 0, "");
  }
  return result;
}

std::string examples_of(std::string_view examples, std::string_view command) {
  std::string text;
  for (const std::string_view line : lines_of(examples)) {
    const bool is_its = line == command || line.starts_with(std::string(command) + " ");
    if (!is_its) continue;
    text += "\n";
    add_broken(text, "  " + std::string(line), kExampleIndentColumns, " \\");
  }
  return text;
}

}  // namespace commensal::apps
