// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <apps/common/complaint.hpp>
#include <apps/common/help.hpp>
#include <apps/common/manual.hpp>
#include <apps/common/nearest.hpp>
#include <apps/common/program.hpp>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <new>
#include <system_error>

namespace commensal::apps {
namespace {

/// Those about the program itself.
constexpr std::string_view kWithoutSettings[] = {"config", "completion", "manual"};

/// Breaks long lines; the program's own help is a page of its own.
class Formatter : public CLI::Formatter {
 public:
  explicit Formatter(const Program& program) : program_(program) {}
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    if (app->get_parent() == nullptr) return front_page(program_);
    return wrapped(CLI::Formatter::make_help(app, std::move(name), mode));
  }

 private:
  const Program& program_;
};

/// Subcommands show the examples that begin with their names.
void show_examples(CLI::App& app, const std::string& path, std::string_view examples) {
  if (const std::string its = examples_of(examples, path); !its.empty()) {
    app.footer("Examples:" + its);
  }
  for (CLI::App* inner : app.get_subcommands({})) {
    show_examples(*inner, path + " " + inner->get_name(), examples);
  }
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (!inner->get_group().empty()) names.push_back(inner->get_name());
  }
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// `word` as a command of one of the commands, "provider status" say.
std::string inner_command(std::string_view word, const CLI::App& app) {
  for (const CLI::App* one : app.get_subcommands({})) {
    const auto inner = subcommands_of(*one);
    if (std::ranges::find(inner, word) != inner.end())
      return fmt::format("{} {}", one->get_name(), word);
  }
  return "";
}

std::string suggestion(const std::string& meant) {
  return meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant);
}

/// A flag that was given without a value and may have one.
std::string flag_of_value(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || option->get_expected_max() != 0) continue;
    for (const std::string& name : option->get_lnames()) {
      const std::string bare = option->get_flag_value(name, "");
      if (bare != "true" && option->results().back() == bare) return "--" + name;
    }
  }
  return "";
}

/// What a word that is one too many may have been meant for. `given`: the words as they came.
std::string hint_for(const std::string& word, const CLI::App& app,
                     std::span<const std::string> given) {
  constexpr std::string_view kInputs[] = {".npy",  ".npz", ".pb",  ".jpg",
                                          ".jpeg", ".png", ".pgm", ".ppm"};
  const auto ends = [&](std::string_view end) { return word.ends_with(end); };
  if (app.get_option_no_throw("--input") != nullptr && std::ranges::any_of(kInputs, ends))
    return fmt::format("; did you mean '--input {}'?", word);
  const std::string flag = flag_of_value(app);
  const auto at = std::ranges::find(given, word);
  if (flag.empty() || at == given.end() || at == given.begin() || *(at - 1) != flag) return "";
  return fmt::format("; what '{0}' takes is joined to it: {0}=VALUE", flag);
}

/// What was asked for and is not there, if that is what is wrong.
std::string unknown_word(const CLI::App& app, std::span<const std::string> given) {
  const auto chosen = app.get_subcommands();
  if (!chosen.empty()) return unknown_word(*chosen.front(), given);
  const auto rest = app.remaining();
  if (rest.empty()) return "";
  std::string word = rest.front();
  if (word.starts_with("-")) {
    word.resize(std::min(word.size(), word.find('=')));
    return fmt::format("no option '{}'{}", word, suggestion(nearest(word, options_of(app))));
  }
  const auto inner = subcommands_of(app);
  if (inner.empty())
    return fmt::format("'{}' is more than is expected{}", word, hint_for(word, app, given));
  std::string meant = nearest(word, inner);
  if (meant.empty()) meant = inner_command(word, app);
  return fmt::format("no command '{}'{}; there are {}", word, suggestion(meant),
                     fmt::join(inner, ", "));
}

/// A flag with "=" and nothing behind, which the parser takes for the flag.
std::string empty_flag(const CLI::App& app, std::span<const std::string> given) {
  for (const std::string& word : given) {
    if (!word.starts_with("--") || !word.ends_with("=")) continue;
    const CLI::Option* option = app.get_option_no_throw(word.substr(0, word.size() - 1));
    if (option != nullptr && option->get_expected_max() == 0)
      return fmt::format("'{}' has nothing behind it", word);
  }
  return "";
}

/// The place of the setting that a complaint of the parser is about; empty: it is about none.
std::string blamed(const std::string& message,
                   std::span<const std::pair<const CLI::Option*, FoundSetting>> applied) {
  for (const auto& [option, found] : applied) {
    const std::string name = "--" + long_name(*option);
    const std::size_t at = message.find(name);
    if (at == std::string::npos) continue;
    const char next = at + name.size() < message.size() ? message[at + name.size()] : ' ';
    if (next != '-' && std::isalnum(static_cast<unsigned char>(next)) == 0)
      return found.where() + ": ";
  }
  return "";
}

/// Runs it, and fails where what it printed did not arrive.
core::Result<int> run_checked(const Run& run) {
  core::Result<int> done = 0;
  try {
    done = run();
  } catch (const std::filesystem::filesystem_error& error) {  // a folder of another user, say
    return core::fail(core::ErrorCode::kUnavailable, "cannot look at '{}': {}",
                      error.path1().string(), error.code().message());
  } catch (const std::bad_alloc&) {
    return core::fail(core::ErrorCode::kResourceExhausted, "out of memory");
  } catch (const std::system_error& error) {  // of fmt::print
    const bool is_output = std::ferror(stdout) != 0;
    if (!is_output && std::ferror(stderr) == 0) throw;
    return core::fail(core::ErrorCode::kUnavailable, "cannot write standard {}: {}",
                      is_output ? "output" : "error", error.code().message());
  }
  if (const auto shown = check_output(); done && !shown) return tl::unexpected(shown.error());
  return done;
}

}  // namespace

CommandLine::CommandLine(const Program& program)
    : program_(program), app_(std::string(program.purpose), std::string(program.name)) {
  app_.require_subcommand(1);
  app_.set_version_flag("--version", std::string(program.version));
  app_.formatter(std::make_shared<Formatter>(program));
  for (const Command& command : program.commands) {
    CLI::App* sub = app_.add_subcommand(std::string(command.name), std::string(command.summary));
    runs_[sub] = command.declare(*sub);
    show_examples(*sub, fmt::format("{} {}", program.name, command.name), command.examples);
  }
  for (const Command& own : kOwnCommands) {
    const std::string example = fmt::format("{} {}", program.name, own.examples);
    CLI::App* sub = app_.add_subcommand(std::string(own.name), std::string(own.summary));
    if (own.declare != nullptr) runs_[sub] = own.declare(*sub);
    show_examples(*sub, example, example);
  }
  CLI::App* manual = app_.add_subcommand("manual", "Write the pages of the manual")->group("");
  runs_[manual] = declare_manual(*manual, program);
}

int CommandLine::usage_error(std::string_view message, std::span<const std::string> given) const {
  std::string path(program_.name);
  const CLI::App* at = &app_;
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) {
    at = chosen.front();
    path += " " + at->get_name();
  }
  const bool in_json = std::ranges::find(given, "--json") != given.end();
  complain(in_json, path,
           {core::ErrorCode::kInvalidArgument,
            fmt::format("{} ({} --help shows what is expected)", message, path)});
  return 1;
}

int CommandLine::run(std::vector<std::string> arguments, const SettingsPlaces& places) {
  if (arguments.empty()) arguments.emplace_back("--help");
  if (arguments.front() == "help") {
    std::ranges::rotate(arguments, arguments.begin() + 1);
    arguments.back() = "--help";
  }
  if (arguments.front() == "version" && arguments.size() == 1) arguments.front() = "--version";
  const bool is_known = std::ranges::any_of(app_.get_subcommands({}), [&](const CLI::App* one) {
    return one->get_name() == arguments.front();
  });
  if (!is_known && !arguments.front().starts_with("-")) arguments.resize(1);  // no help for these
  CLI::App* const called = called_by(app_, arguments);
  const bool asks_for_help = std::ranges::any_of(
      arguments, [](const std::string& word) { return word == "--help" || word == "-h"; });
  const bool is_own =
      std::ranges::find(kWithoutSettings, arguments.front()) != std::end(kWithoutSettings);
  if (called == nullptr || asks_for_help || is_own) return parse_and_run(std::move(arguments), {});
  const auto refuse = [&](const core::Error& error) {
    const bool in_json = std::ranges::find(arguments, "--json") != arguments.end();
    complain(in_json, fmt::format("{} {}", program_.name, path_of(*called)), error);
    return 1;
  };
  const auto settings = Settings::load(places, app_);
  if (!settings) return refuse(settings.error());
  const auto applied = settings->apply(*called, arguments);
  if (!applied) return refuse(applied.error());
  return parse_and_run(std::move(arguments), *applied);
}

int CommandLine::parse_and_run(std::vector<std::string> arguments, const Applied& applied) {
  const std::vector<std::string> given = arguments;
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app_.parse(std::move(arguments));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app_.exit(asked);
  } catch (const CLI::ParseError& error) {
    const std::string unknown = unknown_word(app_, given);
    const std::string message = unknown.empty() ? error.what() : unknown;
    return usage_error(blamed(message, applied) + message, given);
  }
  const CLI::App* chosen = app_.get_subcommands().front();
  if (const std::string empty = empty_flag(*chosen, given); !empty.empty())
    return usage_error(empty, given);
  const auto done = run_checked(runs_.at(chosen));
  if (done) return *done;
  complain(wants_json(*chosen), fmt::format("{} {}", program_.name, chosen->get_name()),
           done.error());
  return 1;
}

int run_program(const Program& program, int argc, char** argv) {
  return CommandLine(program).run({argv + 1, argv + argc},
                                  program.has_settings ? usual_places() : SettingsPlaces{});
}

}  // namespace commensal::apps
