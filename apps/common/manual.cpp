// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/manual.hpp>
#include <memory>

namespace commensal::apps {
namespace {

/// Text as groff reads it: "-" of an option is no hyphen.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\\') {
      made += "\\e";
    } else if (c == '-') {
      made += "\\-";
    } else if (c == '~') {
      made += "\\(ti";
    } else if (c == '"') {
      made += "\\(dq";
    } else if (c == '^') {
      made += "\\(ha";
    } else {
      made += c;
    }
  }
  return made;
}

/// A line of text of its own, which no request begins.
std::string line(std::string_view text) {
  const bool is_request = text.starts_with(".") || text.starts_with("'");
  return (is_request ? "\\&" : "") + escaped(text) + "\n";
}

std::string header(const Program& program, std::string_view page) {
  std::string upper(page);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return fmt::format(
      ".\\\" Made from the tables of commands.\n.TH {} 1 \"\" \"{} {}\" \"{}\"\n"
      ".nh\n.ad l\n",
      escaped(upper), program.name, program.version, "Commensal");
}

std::string option_text(const CLI::Option& option) {
  std::string text = ".TP\n.B ";
  std::string names;
  for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) {
    names += (names.empty() ? "--" : ", --") + name;
  }
  const bool is_positional = names.empty();
  if (is_positional) names = option.get_name(true);
  text += escaped(names);
  if (option.get_expected_max() > 0 && !is_positional) {
    std::string type = option.get_type_name();
    if (type.empty()) type = "VALUE";
    text += " " + escaped(type);
  }
  if (!option.get_default_str().empty()) {
    text += " [" + escaped(option.get_default_str()) + "]";
  }
  text += "\n" + line(option.get_description());
  if (!option.get_envname().empty()) text += line("Variable: " + option.get_envname());
  return text;
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) text += option_text(*option);
  }
  return text;
}

std::string synopsis(const CLI::App& command, const std::string& path) {
  std::string text = ".B " + escaped(path) + "\n";
  std::string rest = "[OPTION ...]";
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || option->get_group().empty()) continue;
    const std::string name = option->get_name(true);
    rest += option->get_required() ? " " + name : " [" + name + "]";
  }
  for (const CLI::App* inner : command.get_subcommands({})) {
    if (!inner->get_group().empty()) {
      rest += command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]";
      break;
    }
  }
  return text + line(rest);
}

/// Its subcommands, a section each.
std::string subcommands_text(const CLI::App& command, const std::string& path) {
  std::string text;
  for (const CLI::App* inner : command.get_subcommands({})) {
    if (inner->get_group().empty()) continue;
    const std::string its = path + " " + inner->get_name();
    text += ".SS " + escaped(its) + "\n" + line(inner->get_description()) + ".PP\n" +
            synopsis(*inner, its) + options_text(*inner) + subcommands_text(*inner, its);
  }
  return text;
}

bool has_json(const CLI::App& command) {
  if (command.get_option_no_throw("--json") != nullptr) return true;
  const auto inners = command.get_subcommands({});
  return std::ranges::any_of(inners, [](const CLI::App* one) { return has_json(*one); });
}

std::string status_text(bool with_json) {
  std::string text =
      ".SH EXIT STATUS\n.TP\n.B 0\nDone.\n.TP\n.B 1\n"
      "An error, or a wrong call: one line on standard error says what was expected.\n"
      ".TP\n.B 2\nDone, and what was asked about is not so: an answer is wrong, a bar is missed, "
      "where the command says that it has this status.\n"
      ".TP\n.B 130, 143\nEnded by SIGINT or SIGTERM before a daemon had started.\n";
  if (with_json) {
    text +=
        ".SH JSON\nWith\n.B \\-\\-json\nthe result is printed as JSON on standard output, and "
        "so is an error: {\"error\": {\"code\": ..., \"message\": ...}}. Members may be added "
        "in later versions; none changes its meaning.\n";
  }
  return text;
}

std::string settings_text() {
  return ".SH FILES\n.TP\n.I ~/.config/commensal/config.yaml\nSettings of a user: a section for "
         "each command, in it flags without dashes. Below $XDG_CONFIG_HOME, where that is set.\n"
         ".TP\n.I /etc/commensal/config.yaml\nSettings of this machine.\n.PP\n"
         "A flag comes first, then a variable, the user's file, the machine's file, the default. "
         "Keys of a section\n.B client\n(gateway, token\\-file, pin, ca) are for all commands that "
         "ask a gateway.\n.B commensal config show\nsays what holds, and where it is from.\n";
}

std::string examples_text(const Command& command) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  for (std::size_t at = 0; at < command.examples.size();) {
    const std::size_t end = std::min(command.examples.find('\n', at), command.examples.size());
    text += line(command.examples.substr(at, end - at));
    at = end + 1;
  }
  return text + ".fi\n";
}

ManualPage page_of(const Program& program, const Command& command, const CLI::App& app) {
  const std::string path = fmt::format("{} {}", program.name, command.name);
  const std::string name = fmt::format("{}-{}", program.name, command.name);
  std::string text = header(program, name);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(name), escaped(command.brief));
  text += ".SH SYNOPSIS\n" + synopsis(app, path);
  text += ".SH DESCRIPTION\n" + line(fmt::format("{}.", command.summary));
  text += ".SH OPTIONS\n" + options_text(app);
  if (const std::string inner = subcommands_text(app, path); !inner.empty())
    text += ".SH COMMANDS\n" + inner;
  if (!command.examples.empty() && command.declare != declare_completion)
    text += examples_text(command);
  text += status_text(has_json(app));
  if (program.has_settings) text += settings_text();
  text += fmt::format(".SH SEE ALSO\n.BR {} (1)\n", escaped(program.name));
  return {name, text};
}

ManualPage front_of(const Program& program, std::span<const Command> commands) {
  std::string text = header(program, program.name);
  text += fmt::format(".SH NAME\n{} \\- {}\n", escaped(program.name),
                      escaped(program.purpose.substr(0, program.purpose.rfind('.'))));
  text += fmt::format(".SH SYNOPSIS\n.B {}\nCOMMAND [OPTION ...]\n.SH DESCRIPTION\n{}",
                      escaped(program.name), line(program.purpose));
  text += "Each command has a page of its own, and says with\n.B \\-\\-help\nwhat it takes.\n";
  std::string_view group;
  for (const Command& command : commands) {
    if (command.group != group) {
      group = command.group;
      text += fmt::format(".SS {}\n", group);
    }
    text += fmt::format(".TP\n.BR {}\\-{} (1)\n{}", escaped(program.name), escaped(command.name),
                        line(fmt::format("{}.", command.summary)));
  }
  text += status_text(true);
  if (program.has_settings) text += settings_text();
  return {std::string(program.name), text};
}

}  // namespace

std::vector<ManualPage> manual_of(const Program& program, const CLI::App& app) {
  std::vector<Command> commands(program.commands.begin(), program.commands.end());
  commands.insert(commands.end(), std::begin(kOwnCommands), std::end(kOwnCommands));
  std::vector<ManualPage> pages{front_of(program, commands)};
  for (const Command& command : commands) {
    pages.push_back(page_of(program, command, *app.get_subcommand(std::string(command.name))));
  }
  return pages;
}

Run declare_manual(CLI::App& app, const Program& program) {
  const auto folder = std::make_shared<std::string>();
  app.add_option("folder", *folder, "Where the pages are written")->required();
  const CLI::App* const root = app.get_parent();
  return [folder, root, &program]() -> core::Result<int> {
    for (const ManualPage& page : manual_of(program, *root)) {
      COMMENSAL_TRY(
          core::save_for_user(core::Path(*folder) / (page.name + ".1"), core::as_bytes(page.text)));
    }
    return 0;
  };
}

}  // namespace commensal::apps
