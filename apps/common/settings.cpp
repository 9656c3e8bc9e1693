// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <apps/common/nearest.hpp>
#include <apps/common/settings.hpp>
#include <cstdlib>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;

constexpr std::string_view kClientFlags[] = {"gateway", "token-file", "pin", "ca"};

bool is_client(const CLI::App& command) {
  return std::ranges::all_of(kClientFlags, [&](std::string_view name) {
    return command.get_option_no_throw(fmt::format("--{}", name)) != nullptr;
  });
}

bool is_flag(const CLI::Option& option) { return option.get_expected_max() == 0; }

/// The option of that name without dashes, if a file can set it.
const CLI::Option* option_called(const CLI::App& command, const std::string& key) {
  for (const CLI::Option* option : settable(command)) {
    if (std::ranges::find(option->get_lnames(), key) != option->get_lnames().end()) return option;
  }
  return nullptr;
}

/// What a flag of that name stands for: "false" of one that switches off.
std::string plain_value(const CLI::Option& option, const std::string& key) {
  return option.get_flag_value(key, "");
}

/// The command of a section, or the first of those that a section of clients is for.
Result<const CLI::App*> command_of(const std::string& section, const CLI::App& root) {
  std::vector<const CLI::App*> commands;
  add_commands(root, commands);
  std::vector<std::string> names{std::string(kClientSection)};
  for (const CLI::App* command : commands) {
    if (section == kClientSection ? is_client(*command) : path_of(*command) == section)
      return command;
    names.push_back(path_of(*command));
  }
  const std::string meant = nearest(section, names);
  return core::fail(ErrorCode::kInvalidArgument, "no command '{}'{}", section,
                    meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

Result<const CLI::Option*> option_of(const CLI::App& command, const std::string& section,
                                     const std::string& key) {
  const bool is_clients = section == kClientSection;
  const bool is_left_out =
      is_clients && std::ranges::find(kClientFlags, key) == std::end(kClientFlags);
  const CLI::Option* option = is_left_out ? nullptr : option_called(command, key);
  if (option != nullptr) return option;
  if (is_clients) {
    return core::fail(ErrorCode::kInvalidArgument, "'{}' has no flag '{}'; there are {}", section,
                      key, fmt::join(kClientFlags, ", "));
  }
  std::vector<std::string> names;
  for (const CLI::Option* one : settable(command)) {
    names.insert(names.end(), one->get_lnames().begin(), one->get_lnames().end());
  }
  const std::string meant = nearest(key, names);
  return core::fail(ErrorCode::kInvalidArgument, "'{}' has no flag '{}'{}", section, key,
                    meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant));
}

/// That its kind is right; what a value must be the parser knows.
Result<void> check_kind(const CLI::Option& option, const Setting& setting) {
  const bool is_switch = is_flag(option);
  if (setting.is_list && (is_switch || option.get_items_expected_max() < 2)) {
    return core::fail(ErrorCode::kInvalidArgument, "'{}': expected one value, not a list",
                      setting.key);
  }
  if (setting.is_list && setting.values.empty()) {
    return core::fail(ErrorCode::kInvalidArgument, "'{}': the list is empty", setting.key);
  }
  if (!is_switch) return {};
  const std::string& value = setting.values.front();
  const std::string plain = plain_value(option, setting.key);
  const bool has_value = plain != "true" && plain != "false";  // one that may have "=VALUE"
  if (value == "true" || value == "false" || (has_value && !value.empty())) return {};
  return core::fail(ErrorCode::kInvalidArgument, "'{}': expected true or false, not '{}'",
                    setting.key, value);
}

Result<void> check(const SettingsFile& file, const CLI::App& root) {
  const auto at = [&](int line, const core::Error& error) {
    return core::fail(error.code, "{}:{}: {}", file.path.string(), line, error.message);
  };
  for (const SettingsSection& section : file.sections) {
    const auto command = command_of(section.name, root);
    if (!command) return at(section.line, command.error());
    for (const Setting& setting : section.settings) {
      const auto option = option_of(**command, section.name, setting.key);
      if (!option) return at(setting.line, option.error());
      if (const auto fits = check_kind(**option, setting); !fits) {
        return at(setting.line, fits.error());
      }
    }
  }
  return {};
}

const Setting* setting_of(const SettingsFile& file, std::string_view section,
                          const CLI::Option& option) {
  const auto at = std::ranges::find(file.sections, section, &SettingsSection::name);
  if (at == file.sections.end()) return nullptr;
  for (const Setting& setting : at->settings) {
    const auto& names = option.get_lnames();
    if (std::ranges::find(names, setting.key) != names.end()) return &setting;
  }
  return nullptr;
}

bool is_set(const std::string& variable) {
  const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
  return value != nullptr && *value != '\0';
}

constexpr std::size_t rank_of(Nearness nearness) { return static_cast<std::size_t>(nearness); }

/// Not a flag that a file sets to false.
bool says_anything(const Choice& choice) {
  return !choice.is_displaced &&
         (!choice.found || !results_of(*choice.option, *choice.found->setting).empty());
}

bool excludes(const Choice& one, const Choice& other) {
  const auto others = one.option->get_excludes();
  return std::ranges::find(others, other.option) != others.end();
}

}  // namespace

SettingsPlaces usual_places() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  SettingsPlaces places;
  const auto add = [&](const core::Path& folder) {
    places.files.push_back(folder / "commensal" / "config.yaml");
  };
  if (config != nullptr && *config != '\0') {
    add(config);
  } else if (home != nullptr && *home != '\0') {
    add(core::Path(home) / ".config");
  }
  add("/etc");
  return places;
}

std::string path_of(const CLI::App& command) {
  std::string path = command.get_name();
  for (const CLI::App* at = command.get_parent(); at != nullptr && at->get_parent() != nullptr;
       at = at->get_parent()) {
    path = at->get_name() + " " + path;
  }
  return path;
}

std::vector<const CLI::Option*> settable(const CLI::App& command) {
  std::vector<const CLI::Option*> found;
  for (const CLI::Option* option : command.get_options()) {
    const bool is_shown = !option->get_group().empty() && !option->get_lnames().empty();
    if (is_shown && option != command.get_help_ptr()) found.push_back(option);
  }
  return found;
}

std::string long_name(const CLI::Option& option) { return option.get_lnames().front(); }

std::string variable_of(const CLI::Option& option) {
  if (!option.get_envname().empty()) return option.get_envname();
  // Those that commands read themselves, their descriptions name.
  constexpr std::string_view kMark = "$COMMENSAL_";
  const std::string text = option.get_description();
  const std::size_t at = text.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", at + 1);
  return text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
}

CLI::App* called_by(CLI::App& root, std::span<const std::string> words) {
  CLI::App* at = &root;
  for (std::size_t n = 0; n < words.size() && words[n] != "--"; ++n) {
    const std::string& word = words[n];
    if (word.starts_with("-")) {
      const CLI::Option* option = at->get_option_no_throw(word);
      if (option != nullptr && !is_flag(*option)) ++n;  // its value
    } else {
      const auto inners =
          at->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
      if (!inners.empty()) at = inners.front();
    }
  }
  return at == &root ? nullptr : at;
}

bool is_given(const CLI::Option& option, std::span<const std::string> words) {
  const auto gives = [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    const auto is_long = [&](const std::string& one) { return name == "--" + one; };
    const auto is_short = [&](const std::string& one) {
      return !word.starts_with("--") && word.starts_with("-" + one);
    };
    return std::ranges::any_of(option.get_lnames(), is_long) ||
           std::ranges::any_of(option.get_snames(), is_short);
  };
  return std::any_of(words.begin(), std::ranges::find(words, "--"), gives);
}

std::string FoundSetting::where() const {
  return fmt::format("{}:{}", path->string(), setting->line);
}

Result<Settings> Settings::load(const SettingsPlaces& places, const CLI::App& root) {
  Settings settings;
  for (const core::Path& path : places.files) {
    COMMENSAL_ASSIGN(std::optional<SettingsFile> file, read_settings(path));
    if (!file) continue;
    COMMENSAL_TRY(check(*file, root));
    settings.files_.push_back(*std::move(file));
  }
  return settings;
}

std::optional<Choice> Settings::choose(const CLI::App& command, const CLI::Option& option,
                                       std::span<const std::string> words) const {
  if (is_given(option, words)) return Choice{&option, rank_of(Nearness::kWords), {}};
  if (is_set(variable_of(option))) return Choice{&option, rank_of(Nearness::kVariable), {}};
  const bool is_clients =
      is_client(command) &&
      std::ranges::find(kClientFlags, long_name(option)) != std::end(kClientFlags);
  for (std::size_t n = 0; n < files_.size(); ++n) {
    const Setting* found = setting_of(files_[n], path_of(command), option);
    if (found == nullptr && is_clients) found = setting_of(files_[n], kClientSection, option);
    if (found == nullptr) continue;
    return Choice{&option, rank_of(Nearness::kUsersFile) + n, FoundSetting{&files_[n].path, found}};
  }
  return {};
}

std::vector<Choice> Settings::choices(const CLI::App& command,
                                      std::span<const std::string> words) const {
  std::vector<Choice> made;
  for (const CLI::Option* option : settable(command)) {
    if (const auto chosen = choose(command, *option, words)) made.push_back(*chosen);
  }
  std::ranges::stable_sort(made, {}, &Choice::rank);
  for (Choice& one : made) {
    const auto takes_away = [&](const Choice& other) {
      return other.rank < one.rank && says_anything(other) && excludes(other, one);
    };
    one.is_displaced = says_anything(one) && std::ranges::any_of(made, takes_away);
  }
  return made;
}

Result<void> check_together(std::span<const Choice> choices, Nearness nearest) {
  for (auto one = choices.begin(); one != choices.end(); ++one) {
    if (one->rank < rank_of(nearest) || !says_anything(*one)) continue;
    for (auto other = std::next(one); other != choices.end(); ++other) {
      if (other->rank != one->rank || !says_anything(*other) || !excludes(*one, *other)) continue;
      const std::string place = one->found ? one->found->where() + ": " : "";
      const std::string line =
          one->found ? fmt::format(" (line {})", other->found->setting->line) : "";
      return core::fail(ErrorCode::kInvalidArgument, "{}--{} excludes --{}{}", place,
                        long_name(*one->option), long_name(*other->option), line);
    }
  }
  return {};
}

Result<std::vector<std::pair<const CLI::Option*, FoundSetting>>> Settings::apply(
    CLI::App& command, std::span<const std::string> words) const {
  const std::vector<Choice> chosen = choices(command, words);
  COMMENSAL_TRY(check_together(chosen, Nearness::kVariable));
  std::vector<std::pair<const CLI::Option*, FoundSetting>> applied;
  for (const Choice& one : chosen) {
    CLI::Option* const option = command.get_option("--" + long_name(*one.option));
    if (one.is_displaced) option->envname("");  // the parser is not to read it
    if (one.is_displaced || !one.found) continue;
    const auto results = results_of(*option, *one.found->setting);
    if (results.empty()) continue;
    option->add_result(results);
    applied.emplace_back(option, *one.found);
  }
  return applied;
}

std::vector<std::string> results_of(const CLI::Option& option, const Setting& setting) {
  if (!is_flag(option)) return setting.values;
  const std::string& value = setting.values.front();
  const std::string plain = plain_value(option, setting.key);
  if (value != "true" && value != "false") return {value};
  if (value == "true") return {plain};
  // A flag that says no and is not given says nothing, unless it has an opposite.
  const auto& names = option.get_lnames();
  for (const std::string& other : names) {
    if (const std::string said = plain_value(option, other); said != plain) return {said};
  }
  return {};
}

}  // namespace commensal::apps
