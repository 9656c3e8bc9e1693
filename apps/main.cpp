// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <apps/command.hpp>
#include <cstdio>
#include <map>

namespace {

using commensal::apps::Command;

std::string footer_of(const Command& command) {
  std::string text = "Examples:";
  std::string_view rest = command.examples;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    text += fmt::format("\n  {}", rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text;
}

// What the first argument asks for, if it is no command.
std::string unknown_command(int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  std::string names;
  for (const Command& command : commensal::apps::command_table()) {
    if (command.name == argv[1]) return "";
    names += fmt::format("{}{}", names.empty() ? "" : ", ", command.name);
  }
  return fmt::format("no command '{}'; there are {}", argv[1], names);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Commensal runs neural networks on busy hardware and proves that the answers are "
      "right.",
      "commensal");
  app.require_subcommand(1);
  app.set_version_flag("--version", COMMENSAL_VERSION);
  app.footer("commensal COMMAND --help shows options and examples.");
  std::map<const CLI::App*, commensal::apps::Run> runs;
  for (const Command& command : commensal::apps::command_table()) {
    CLI::App* sub = app.add_subcommand(std::string(command.name), std::string(command.summary));
    sub->footer(footer_of(command));
    runs[sub] = command.declare(*sub);
  }
  if (const std::string complaint = unknown_command(argc, argv); !complaint.empty()) {
    fmt::print(stderr, "commensal: {}\n", complaint);
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "commensal: {} (--help shows what is expected)\n", error.what());
    return 1;
  }
  const CLI::App* chosen = app.get_subcommands().front();
  const auto done = runs.at(chosen)();
  if (done) return *done;
  fmt::print(stderr, "commensal {}: {}\n", chosen->get_name(), done.error().message);
  return 1;
}
