// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <apps/common/completion.hpp>
#include <memory>

namespace commensal::apps {
namespace {

constexpr std::size_t kShownMax = 60;

/// An option as shells want it.
struct Word {
  std::string name;  // with dashes
  std::string about;
  std::vector<std::string> values;  // those that there are, where they are named
  bool takes_value = false;
};

struct Place {
  std::string path;  // "commensal provider"
  std::vector<Word> commands;
  std::vector<std::string> actions;  // one of which the first word behind the path is
  std::vector<Word> options;
};

/// The beginning of a description.
std::string short_text(std::string text) {
  text.resize(std::min(text.size(), text.find_first_of(";:.(\n")));
  if (text.size() > kShownMax) text.resize(text.rfind(' ', kShownMax));
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// "TEXT:{process,thread}" of the parser.
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

/// Of the first argument that is no option's.
std::vector<std::string> actions_of(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) return values_of(*option);
  }
  return {};
}

Place place_of(const CLI::App& app, const std::string& path) {
  Place place{.path = path, .commands = {}, .actions = actions_of(app), .options = {}};
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    place.commands.push_back({inner->get_name(), short_text(inner->get_description()), {}, false});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      place.options.push_back({"--" + name, short_text(option->get_description()),
                               values_of(*option), option->get_expected_max() > 0});
    }
  }
  return place;
}

void add_places(const CLI::App& app, const std::string& path, std::vector<Place>& places) {
  places.push_back(place_of(app, path));
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (!inner->get_group().empty()) add_places(*inner, path + " " + inner->get_name(), places);
  }
}

std::vector<std::string> names_of(const std::vector<Word>& words) {
  std::vector<std::string> names;
  for (const Word& word : words) names.push_back(word.name);
  return names;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
  return text;
}

std::string function_of(std::string_view program) {
  return "_" + replaced(std::string(program), "-", "_");
}

/// A branch for each place below the program, to walk along.
std::string steps_of(const std::vector<Place>& places) {
  std::vector<std::string> paths;
  for (const Place& place : places) paths.push_back("\"" + place.path + "\"");
  paths.erase(paths.begin());
  return fmt::format("{}", fmt::join(paths, " | "));
}

/// A branch for each action of a place, so that no second one is offered.
std::string acts_of(const std::vector<Place>& places) {
  std::vector<std::string> paths;
  for (const Place& place : places) {
    for (const std::string& action : place.actions)
      paths.push_back(fmt::format("\"{} {}\"", place.path, action));
  }
  return paths.empty() ? "\"\"" : fmt::format("{}", fmt::join(paths, " | "));
}

std::string for_bash(std::string_view program, const std::vector<Place>& places) {
  std::string commands, options, values;
  for (const Place& place : places) {
    const auto add = [&](std::string& to, const std::vector<std::string>& words) {
      if (words.empty()) return;
      to += fmt::format("    \"{}\") words=\"{}\" ;;\n", place.path, fmt::join(words, " "));
    };
    add(commands, place.actions.empty() ? names_of(place.commands) : place.actions);
    add(options, names_of(place.options));
    for (const Word& option : place.options) {
      if (!option.takes_value) continue;
      values += option.values.empty()
                    ? fmt::format("    \"{} {}\") takes=files ;;\n", place.path, option.name)
                    : fmt::format("    \"{} {}\") takes=one words=\"{}\" ;;\n", place.path,
                                  option.name, fmt::join(option.values, " "));
    }
  }
  return fmt::format(
      R"(# Completion of {0} for bash; made by `{0} completion bash`.
{1}() {{
  local at={0} n acts= takes= words= current=${{COMP_WORDS[COMP_CWORD]}}
  local before=${{COMP_WORDS[COMP_CWORD - 1]}}
  COMPREPLY=()
  # Bash takes "=" for a word.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $before == "=" && $COMP_CWORD -gt 2 ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((n = 1; n < COMP_CWORD; n++)); do
    case "$at ${{COMP_WORDS[n]}}" in
    {2}) at+=" ${{COMP_WORDS[n]}}" ;;
    {6}) acts=yes ;;
    esac
    # What follows these is the name of a command.
    if [[ $current != -* && ($at == "{0} help" || $at == "{0} config show") ]]; then at={0}; fi
  done
  case "$at $before" in
{5}  esac
  if [[ $takes == "" && $current == -* ]]; then
    case "$at" in
{4}    esac
  elif [[ $takes$acts == "" ]]; then
    case "$at" in
{3}    esac
  fi
  if [[ $words != "" ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $current != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F {1} {0}
)",
      program, function_of(program), steps_of(places), commands, options, values, acts_of(places));
}

/// One of zsh's `name:description`, in quotes.
std::string zsh_word(const Word& word) {
  return "'" + replaced(word.name + ":" + word.about, "'", "'\\''") + "'";
}

std::string for_zsh(std::string_view program, const std::vector<Place>& places) {
  std::string lists, values;
  for (const Place& place : places) {
    lists += fmt::format("    \"{}\")\n", place.path);
    for (const auto& [name, words] :
         {std::pair("commands", &place.commands), std::pair("options", &place.options)}) {
      if (words->empty()) continue;
      lists += fmt::format("      {}=(\n", name);
      for (const Word& word : *words) lists += "        " + zsh_word(word) + "\n";
      lists += "      )\n";
    }
    if (!place.actions.empty())
      lists += fmt::format("      actions=({})\n", fmt::join(place.actions, " "));
    lists += "      ;;\n";
    for (const Word& option : place.options) {
      if (!option.takes_value) continue;
      values += fmt::format("    \"{} {}\") takes=yes values=({}) ;;\n", place.path, option.name,
                            fmt::join(option.values, " "));
    }
  }
  return fmt::format(
      R"(#compdef {0}
# Completion of {0} for zsh; made by `{0} completion zsh`.
{1}() {{
  local at={0} n acts= takes=
  local -a actions commands options values
  for ((n = 2; n < CURRENT; n++)); do
    case "$at ${{words[n]}}" in
    {2}) at+=" ${{words[n]}}" ;;
    {5}) acts=yes ;;
    esac
  done
  case "$at ${{words[CURRENT - 1]}}" in
{4}  esac
  if [[ -n $takes ]]; then
    if (( $#values )); then compadd -a values; else _files; fi
    return
  fi
  case "$at" in
{3}  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe -o option options
  elif (( $#commands )); then
    _describe command commands
  elif [[ -z $acts ]] && (( $#actions )); then
    compadd -a actions
  else
    _files
  fi
}}
if [[ "$funcstack[1]" == {1} ]]; then
  {1} "$@"
else
  compdef {1} {0}
fi
)",
      program, function_of(program), steps_of(places), lists, values, acts_of(places));
}

std::string fish_text(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

/// Where a place holds: its commands are there, those below it are not.
std::string fish_condition(const Place& place) {
  std::string condition;
  const auto words = CLI::detail::split(place.path, ' ');
  for (std::size_t n = 1; n < words.size(); ++n) {
    condition += fmt::format("{}__fish_seen_subcommand_from {}", n == 1 ? "" : "; and ", words[n]);
  }
  if (condition.empty()) return "__fish_use_subcommand";
  if (place.commands.empty()) return condition;
  return fmt::format("{}; and not __fish_seen_subcommand_from {}", condition,
                     fmt::join(names_of(place.commands), " "));
}

std::string for_fish(std::string_view program, const std::vector<Place>& places) {
  std::string text =
      fmt::format("# Completion of {0} for fish; made by `{0} completion fish`.\n", program);
  for (const Place& place : places) {
    const std::string begin =
        fmt::format("complete -c {} -n {}", program, fish_text(fish_condition(place)));
    for (const Word& command : place.commands) {
      text += fmt::format("{} -f -a {} -d {}\n", begin, command.name, fish_text(command.about));
    }
    const std::string actions = fmt::format("{}", fmt::join(place.actions, " "));
    if (!actions.empty()) {
      text += fmt::format(
          "complete -c {} -n {} -f -a '{}'\n", program,
          fish_text(fish_condition(place) + "; and not __fish_seen_subcommand_from " + actions),
          actions);
    }
    for (const Word& option : place.options) {
      text += fmt::format("{} -l {}", begin, option.name.substr(2));
      if (option.takes_value) text += " -r";
      if (!option.values.empty()) text += fmt::format(" -f -a '{}'", fmt::join(option.values, " "));
      text += fmt::format(" -d {}\n", fish_text(option.about));
    }
  }
  return text;
}

}  // namespace

core::Result<std::string> completion_for(std::string_view shell, const CLI::App& program) {
  std::vector<Place> places;
  add_places(program, program.get_name(), places);
  if (shell == "bash") return for_bash(program.get_name(), places);
  if (shell == "zsh") return for_zsh(program.get_name(), places);
  if (shell == "fish") return for_fish(program.get_name(), places);
  return core::fail(core::ErrorCode::kInvalidArgument, "no shell '{}'; there are bash, zsh, fish",
                    shell);
}

Run declare_completion(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash, zsh or fish")->required();
  const CLI::App* const program = app.get_parent();
  return [shell, program]() -> core::Result<int> {
    COMMENSAL_ASSIGN(const std::string text, completion_for(*shell, *program));
    fmt::print("{}", text);
    return 0;
  };
}

}  // namespace commensal::apps
