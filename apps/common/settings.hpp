// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <apps/common/settings_file.hpp>
#include <functional>
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

/// What the files say, which is held to the options that the commands have. An option follows what
/// the command line says, else its variable, else the first of the files, there its command's own
/// section before that of clients, else its default. Not for several threads.
class Settings {
 public:
  /// Errors, one line with file and line: an unreadable or wrong file, a section that is no
  /// command, a flag that its command does not have, a list or another text where it takes none.
  static core::Result<Settings> load(const SettingsPlaces& places, const CLI::App& root);

  std::optional<FoundSetting> find(const CLI::App& command, const CLI::Option& option) const;

  /// Gives the command's options what the files say where neither `words` nor a variable do.
  /// Returns which, for what is said of them when they are parsed.
  std::vector<std::pair<const CLI::Option*, FoundSetting>> apply(
      CLI::App& command, std::span<const std::string> words) const;

  const std::vector<SettingsFile>& files() const { return files_; }

 private:
  std::vector<SettingsFile> files_;
};

/// What the parser is given for a setting of a flag or an option. `name`: the one in the file.
std::vector<std::string> results_of(const CLI::Option& option, const Setting& setting);

}  // namespace commensal::apps
