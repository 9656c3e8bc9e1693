// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/command.hpp>
#include <apps/common/nearest.hpp>
#include <apps/common/settings.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using core::ErrorCode;
using core::Result;
using Json = nlohmann::ordered_json;

struct ConfigArguments {
  std::vector<std::string> words;  // a command's, flags may follow
  CLI::App* root = nullptr;
  CLI::App* show = nullptr;
  bool json = false;
};

/// An option's value, and who says so.
struct Shown {
  std::string name;
  std::vector<std::string> values;  // none: it has none
  std::string from;                 // "flag", "environment", "file", "default"
  std::string where;                // the variable, or PATH:LINE
};

constexpr std::string_view kSecret = "(set)";

/// A password in an address is nobody's to read, nor is what a variable holds that stands for a
/// file, such as a token.
std::string shown_value(const std::string& name, const std::string& value, bool is_of_variable) {
  const bool is_secret = name == "db" || (is_of_variable && name.ends_with("-file"));
  if (is_secret && !value.empty()) return std::string(kSecret);
  const std::size_t scheme = value.find("://");
  const std::size_t at = value.find('@', scheme == std::string::npos ? 0 : scheme);
  if (scheme == std::string::npos || at == std::string::npos) return value;
  const std::size_t colon = value.find(':', scheme + 3);
  if (colon == std::string::npos || colon > at) return value;
  return value.substr(0, colon + 1) + std::string(kSecret) + value.substr(at);
}

/// What the words after a command give an option.
std::vector<std::string> given_values(const CLI::Option& option,
                                      const std::vector<std::string>& words) {
  std::vector<std::string> values;
  for (std::size_t n = 0; n < words.size(); ++n) {
    if (!is_given(option, std::span(words).subspan(n, 1))) continue;
    const std::size_t equals = words[n].find('=');
    if (equals != std::string::npos) {
      values.push_back(words[n].substr(equals + 1));
    } else if (option.get_expected_max() == 0) {
      values.push_back(
          option.get_flag_value(words[n].substr(words[n].rfind('-') == 0 ? 1 : 2), ""));
    } else if (n + 1 < words.size()) {
      values.push_back(words[++n]);
    }
  }
  return values;
}

/// `chosen`: who sets it; null: nobody.
Shown look_at(const CLI::Option& option, const Choice* chosen,
              const std::vector<std::string>& words) {
  Shown shown{.name = long_name(option), .values = {}, .from = "flag", .where = ""};
  if (chosen != nullptr && chosen->found) {
    const FoundSetting& found = *chosen->found;
    shown.values = results_of(option, *found.setting);
    if (shown.values.empty()) shown.values = found.setting->values;  // "false"
    shown.from = "file";
    shown.where = found.where();
  } else if (chosen != nullptr && is_given(option, words)) {
    shown.values = given_values(option, words);
  } else if (chosen != nullptr) {
    shown.where = variable_of(option);
    shown.values = {std::getenv(shown.where.c_str())};
    shown.from = "environment";
  } else {
    shown.from = "default";
    const std::string usual = option.get_default_str();
    if (!usual.empty()) shown.values = {usual};
    if (usual.empty() && option.get_expected_max() == 0) shown.values = {"false"};
  }
  for (std::string& value : shown.values) {
    value = shown_value(shown.name, value, shown.from == "environment");
  }
  return shown;
}

/// That the parser takes what the files say for this command.
Result<void> check_values(CLI::App& command, const Settings& settings,
                          const std::vector<std::string>& words) {
  COMMENSAL_ASSIGN(const auto applied, settings.apply(command, words));
  for (const auto& [option, found] : applied) {
    try {
      command.get_option("--" + long_name(*option))->run_callback();
    } catch (const CLI::ParseError& error) {
      return core::fail(ErrorCode::kInvalidArgument, "{}: {}", found.where(), error.what());
    }
  }
  return {};
}

std::string words_of(const Shown& shown) {
  std::string value;
  for (const std::string& one : shown.values) value += (value.empty() ? "" : ", ") + one;
  if (value.empty()) value = "-";
  const std::string from = shown.from == "file"  ? shown.where
                           : shown.where.empty() ? shown.from
                                                 : shown.from + " " + shown.where;
  return fmt::format("  {:<24} {:<32} {}\n", shown.name, value, from);
}

Json json_of(const Shown& shown) {
  Json value;
  if (shown.values.size() == 1) value = shown.values.front();
  if (shown.values.size() > 1) value = shown.values;
  Json row = {{"value", value}, {"from", shown.from}};
  if (!shown.where.empty()) row["where"] = shown.where;
  return row;
}

/// The command that was named, with its flags behind it; without one all that there are.
Result<std::vector<CLI::App*>> commands_of(const ConfigArguments& options) {
  std::vector<CLI::App*> commands;
  if (options.words.empty()) {
    add_commands(*options.root, commands);
    return commands;
  }
  CLI::App* const called = called_by(*options.root, options.words);
  if (called == nullptr) {
    return core::fail(ErrorCode::kInvalidArgument, "no command '{}'", options.words.front());
  }
  for (const std::string& word : options.words) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with("--") && called->get_option_no_throw(name) == nullptr) {
      return core::fail(ErrorCode::kInvalidArgument, "'{}' has no option '{}'", path_of(*called),
                        name);
    }
  }
  return std::vector<CLI::App*>{called};
}

Result<int> show(const ConfigArguments& options) {
  const SettingsPlaces places = usual_places();
  COMMENSAL_ASSIGN(const Settings settings, Settings::load(places, *options.root));
  COMMENSAL_ASSIGN(const std::vector<CLI::App*> commands, commands_of(options));
  Json files = Json::array();
  std::string text;
  for (const core::Path& path : places.files) {
    const bool is_read = std::ranges::any_of(
        settings.files(), [&](const SettingsFile& file) { return file.path == path; });
    files.push_back({{"path", path.string()}, {"read", is_read}});
    text += fmt::format("{}{}\n", path.string(), is_read ? "" : " (not there)");
  }
  Json rows = Json::object();
  for (CLI::App* command : commands) {
    std::string lines;
    Json row = Json::object();
    const std::vector<Choice> choices = settings.choices(*command, options.words);
    COMMENSAL_TRY(check_together(choices, Nearness::kWords));
    for (const CLI::Option* option : settable(*command)) {
      const auto chosen = std::ranges::find_if(
          choices, [&](const Choice& one) { return one.option == option && !one.is_displaced; });
      const Choice* const by = chosen == choices.end() ? nullptr : &*chosen;
      const Shown shown = look_at(*option, by, options.words);
      if (options.words.empty() && shown.from == "default") continue;  // hundreds
      lines += words_of(shown);
      row[shown.name] = json_of(shown);
    }
    COMMENSAL_TRY(check_values(*command, settings, options.words));
    if (lines.empty()) continue;
    text += fmt::format("{}\n{}", path_of(*command), lines);
    rows[path_of(*command)] = row;
  }
  if (options.json) {
    text = Json({{"files", files}, {"commands", rows}})
               .dump(2, ' ', false, Json::error_handler_t::replace) +
           "\n";
  }
  fmt::print("{}", text);
  return 0;
}

}  // namespace

Run declare_config(CLI::App& app) {
  const auto options = std::make_shared<ConfigArguments>();
  app.require_subcommand(1);
  options->root = app.get_parent();
  options->show = app.add_subcommand(
      "show",
      "Show the settings of the command whose name follows, or what is set of all, and where each "
      "is from");
  options->show->add_flag("--json", options->json, "Print them as JSON");
  options->show->allow_extras();
  return [options] {
    options->words = options->show->remaining();
    return show(*options);
  };
}

}  // namespace commensal::apps
