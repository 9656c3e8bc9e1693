// SPDX-License-Identifier: Apache-2.0
// Of both programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <apps/commensal/table.hpp>
#include <apps/common/help.hpp>
#include <apps/lab/table.hpp>
#include <functional>
#include <sstream>

namespace commensal::apps {
namespace {

using Visit = std::function<void(const CLI::App& app, const std::string& path)>;

void walk(const CLI::App& app, const std::string& path, const Visit& visit) {
  visit(app, path);
  for (const CLI::App* inner : app.get_subcommands({})) {
    if (!inner->get_group().empty()) walk(*inner, path + " " + inner->get_name(), visit);
  }
}

void walk_programs(const Visit& visit) {
  for (const Program* program : {&commensal_program(), &lab_program()}) {
    CommandLine line(*program);
    walk(line.app(), std::string(program->name), visit);
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Help, AProgramsOwnFitsOneScreen) {
  for (const Program* program : {&commensal_program(), &lab_program()}) {
    CommandLine line(*program);
    const auto lines = lines_of(line.app().help());
    EXPECT_LT(lines.size(), 24u) << program->name;  // the prompt takes a line as well
    for (const std::string& one : lines) EXPECT_LE(one.size(), 80u) << one;
    for (const Command& command : program->commands) {
      const std::string cell = "  " + std::string(command.name) + " ";
      EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& one) {
        return one.find(cell) != std::string::npos;
      })) << command.name;
    }
  }
}

TEST(Help, LinesHaveAtMostAHundredColumns) {
  int commands = 0;
  walk_programs([&](const CLI::App& app, const std::string& path) {
    for (const std::string& line : lines_of(app.help())) {
      EXPECT_LE(line.size(), kHelpColumnsMax) << path << ": " << line;
    }
    ++commands;
  });
  EXPECT_GT(commands, 35);
}

TEST(Help, EveryCommandAndSubcommandShowsExamplesOfItsOwn) {
  walk_programs([&](const CLI::App& app, const std::string& path) {
    if (app.get_parent() == nullptr) return;
    EXPECT_NE(app.help().find("\n  " + path), std::string::npos) << path;
  });
}

TEST(Help, TheProductHasNothingOfTheLaboratory) {
  for (const Command& command : lab_program().commands) {
    const auto same = [&](const Command& one) { return one.declare == command.declare; };
    const bool is_of_both = command.declare == nullptr;  // help, version
    EXPECT_TRUE(is_of_both || std::ranges::none_of(commensal_program().commands, same))
        << command.name;
  }
}

// What is said of a mistake, in a line on stderr.
std::string complaint(std::vector<std::string> arguments) {
  CommandLine line(commensal_program());
  testing::internal::CaptureStderr();
  const int status = line.run(std::move(arguments));
  std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, 1) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  return said;
}

// What is printed where nothing is wrong.
std::string page(std::vector<std::string> arguments) {
  CommandLine line(commensal_program());
  testing::internal::CaptureStdout();
  EXPECT_EQ(line.run(std::move(arguments)), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(Help, MistakesSuggestTheNearest) {
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(complaint({"provder"}), "did you mean 'provider'?"));
  EXPECT_TRUE(has(complaint({"help", "provder"}), "did you mean 'provider'?"));
  EXPECT_TRUE(has(complaint({"run", "model.onnx", "--thread", "2"}), "did you mean '--threads'?"));
  EXPECT_TRUE(has(complaint({"infer", "a/b", "--inptu=x.npy"}), "did you mean '--input'?"));
  EXPECT_TRUE(has(complaint({"bench", "runtim"}), "did you mean 'runtime'?"));
  EXPECT_TRUE(has(complaint({"status"}), "did you mean 'provider status'?"));
  EXPECT_FALSE(has(complaint({"zzzzzzzz"}), "did you mean"));
  EXPECT_TRUE(has(complaint({"models", "a", "b", "c"}), "more than is expected"));
}

TEST(Help, HelpAndVersionAreCommands) {
  EXPECT_EQ(page({"help"}), page({"--help"}));
  EXPECT_EQ(page({}), page({"--help"}));
  EXPECT_EQ(page({"help", "run"}), page({"run", "--help"}));
  EXPECT_EQ(page({"help", "bench", "runtime"}), page({"bench", "runtime", "--help"}));
  EXPECT_EQ(page({"version"}), page({"--version"}));
}

TEST(Help, LongLinesAreBrokenUnderTheirDescriptions) {
  const std::string option = "  --weight FLOAT              ";
  const std::string text = option + std::string(60, 'a') + " bbbbb ccccc ddddd";
  EXPECT_EQ(wrapped(text),
            option + std::string(60, 'a') + " bbbbb\n" + std::string(30, ' ') + "ccccc ddddd");
  EXPECT_EQ(wrapped("short\n\nlines\n"), "short\n\nlines\n");
}

TEST(Help, ExamplesAreThoseOfTheCommand) {
  const std::string examples = "x a --one\nx a b --two\nx ab\n";
  EXPECT_EQ(examples_of(examples, "x a"), "\n  x a --one\n  x a b --two");
  EXPECT_EQ(examples_of(examples, "x a b"), "\n  x a b --two");
  EXPECT_EQ(examples_of(examples, "x b"), "");
  const std::string words = "x " + std::string(60, 'a') + " " + std::string(60, 'b');
  EXPECT_EQ(examples_of(words, "x"),
            "\n  x " + std::string(60, 'a') + " \\\n      " + std::string(60, 'b'));
}

}  // namespace
}  // namespace commensal::apps
