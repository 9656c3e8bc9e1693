// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/common/settings_file.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace commensal::apps {

/// The section for every command that asks a gateway: its flags gateway, token-file, pin and ca.
inline constexpr std::string_view kClientSection = "client";

/// Where settings are looked for.
struct SettingsPlaces {
  std::vector<core::Path> files;  // the first comes first: the user's, the machine's
};

/// $XDG_CONFIG_HOME/commensal/config.yaml (~/.config/...) and /etc/commensal/config.yaml.
SettingsPlaces usual_places();

/// The name of a command below its program: "provider status".
std::string path_of(const CLI::App& command);

/// Adds the commands below `app` that are shown, each before those below it. App: CLI::App, const
/// or not.
template <class App>
void add_commands(App& app, std::vector<App*>& commands) {
  for (App* inner : app.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    commands.push_back(inner);
    add_commands(*inner, commands);
  }
}

/// The options of a command that a file can set: those with a long name that it shows.
std::vector<const CLI::Option*> settable(const CLI::App& command);
std::string long_name(const CLI::Option& option);

/// The variable that an option follows; empty: none.
std::string variable_of(const CLI::Option& option);

/// The innermost of the commands that `words` call; null where they call none.
CLI::App* called_by(CLI::App& root, std::span<const std::string> words);

/// Whether the words, as they came, give that option.
bool is_given(const CLI::Option& option, std::span<const std::string> words);

/// A setting that a file has for an option.
struct FoundSetting {
  const core::Path* path;
  const Setting* setting;

  std::string where() const;  // PATH:LINE
};

/// Who says what an option is; the nearer comes first.
enum class Nearness : std::uint8_t { kWords, kVariable, kUsersFile };  // then the files behind it

/// An option that somebody has set.
struct Choice {
  const CLI::Option* option;
  std::size_t rank;                   // a Nearness, or more: of a file, in their order
  std::optional<FoundSetting> found;  // of a file
  bool is_displaced = false;          // a nearer one excludes it: it says nothing
};

/// What the files say, which is held to the options that the commands have. An option follows what
/// the command line says, else its variable, else the first of the files, there its command's own
/// section before that of clients, else its default. One that excludes others takes them away where
/// they are of somebody farther. Not for several threads.
class Settings {
 public:
  /// Errors, one line with file and line: an unreadable or wrong file, a section that is no
  /// command, a flag that its command does not have, a list or another text where it takes none.
  static core::Result<Settings> load(const SettingsPlaces& places, const CLI::App& root);

  /// Those of the command's options that are set, the nearest first.
  std::vector<Choice> choices(const CLI::App& command, std::span<const std::string> words) const;

  /// Gives the command's options what the files say where nobody nearer says otherwise, and takes
  /// away the variables that the words exclude. Returns which were given, for what is said of them
  /// when they are parsed. Error, one line: two of one file, or of the environment, exclude each
  /// other (of the words the parser says so).
  core::Result<std::vector<std::pair<const CLI::Option*, FoundSetting>>> apply(
      CLI::App& command, std::span<const std::string> words) const;

  const std::vector<SettingsFile>& files() const { return files_; }

 private:
  std::optional<Choice> choose(const CLI::App& command, const CLI::Option& option,
                               std::span<const std::string> words) const;

  std::vector<SettingsFile> files_;
};

/// Error, one line: two of them exclude each other and come from the same place, `nearest` or
/// farther.
core::Result<void> check_together(std::span<const Choice> choices, Nearness nearest);

/// What the parser is given for a setting of a flag or an option. `name`: the one in the file.
std::vector<std::string> results_of(const CLI::Option& option, const Setting& setting);

}  // namespace commensal::apps
