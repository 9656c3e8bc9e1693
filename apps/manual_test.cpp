// SPDX-License-Identifier: Apache-2.0
// The manual and the completion of both programs, read by those that they are made for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <apps/commensal/table.hpp>
#include <apps/common/completion.hpp>
#include <apps/common/manual.hpp>
#include <apps/lab/table.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What a shell's command prints, errors too.
std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr) return "no shell";
  char piece[4096];
  while (std::fgets(piece, sizeof piece, pipe) != nullptr) text += piece;
  ::pclose(pipe);
  return text;
}

bool is_there(const std::string& program) { return !output_of("command -v " + program).empty(); }

class Told : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / fmt::format("commensal_told_{}", ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string save(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string completion(std::string_view shell, const Program& program = commensal_program()) {
    return completion_for(shell, CommandLine(program).app()).value();
  }
  /// What bash offers for the words of a line, the last of which is being written.
  std::string in_bash(const std::vector<std::string>& words) {
    std::string list;
    for (const std::string& word : words) list += " '" + word + "'";
    const std::string script =
        save("script", completion("bash") + "COMP_WORDS=(" + list +
                           ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                           "\n_commensal\necho \"${COMPREPLY[*]}\"\n");
    return output_of("cd '" + folder_.string() + "' && bash '" + script + "'");
  }

  std::filesystem::path folder_;
};

TEST_F(Told, ThereIsAPageForEachCommandAndGroffHasNothingToSay) {
  for (const Program* program : {&commensal_program(), &lab_program()}) {
    CommandLine line(*program);
    const auto pages = manual_of(*program, line.app());
    EXPECT_EQ(pages.size(), 1 + program->commands.size() + std::size(kOwnCommands));
    for (const ManualPage& page : pages) {
      EXPECT_THAT(page.text, HasSubstr(".SH EXIT STATUS")) << page.name;
      if (!is_there("groff")) continue;
      const std::string file = save(page.name + ".1", page.text);
      EXPECT_EQ(output_of("groff -man -Tutf8 -ww '" + file + "' >/dev/null"), "") << page.name;
    }
  }
}

TEST_F(Told, APageHasOptionsExamplesVariablesAndSubcommands) {
  CommandLine line(commensal_program());
  const auto pages = manual_of(commensal_program(), line.app());
  const auto text_of = [&](std::string_view name) {
    const auto at = std::ranges::find(pages, name, &ManualPage::name);
    return at == pages.end() ? std::string() : at->text;
  };
  EXPECT_THAT(text_of("commensal"),
              HasSubstr(".SS Operators, auditors, arbiters\n.TP\n.BR commensal\\-gateway (1)"));
  EXPECT_THAT(text_of("commensal-gateway"), HasSubstr(".B \\-\\-http"));
  EXPECT_THAT(text_of("commensal-gateway"), HasSubstr("Variable: COMMENSAL_DB"));
  EXPECT_THAT(text_of("commensal-provider"), HasSubstr(".SS commensal provider status"));
  EXPECT_THAT(text_of("commensal-infer"), HasSubstr(".SH EXAMPLES\n.nf\ncommensal infer"));
  EXPECT_THAT(text_of("commensal-infer"), HasSubstr(".SH JSON"));
}

TEST_F(Told, BashCompletesCommandsOptionsValuesAndFiles) {
  EXPECT_EQ(in_bash({"commensal", "prov"}), "providers provider\n");
  EXPECT_EQ(in_bash({"commensal", "provider", "stat"}), "status\n");
  EXPECT_THAT(in_bash({"commensal", "gateway", "--tls"}), HasSubstr("--tls-cert"));
  EXPECT_EQ(in_bash({"commensal", "gateway", "--worker", ""}), "process thread\n");
  EXPECT_EQ(in_bash({"commensal", "gateway", "--worker", "=", "th"}), "thread\n");
  EXPECT_EQ(in_bash({"commensal", "gateway", "--worker", "="}), "process thread\n");
  EXPECT_THAT(in_bash({"commensal", "provider", "status", "--w"}), HasSubstr("--watch"));
  save("picture.npy", "");
  EXPECT_EQ(in_bash({"commensal", "infer", "--input", "pic"}), "picture.npy\n");
  EXPECT_EQ(in_bash({"commensal", "inspect", "pic"}), "picture.npy\n");
  EXPECT_EQ(in_bash({"commensal", "account", "sig"}), "signup\n");
  EXPECT_THAT(in_bash({"commensal", "account", ""}), HasSubstr("whoami "));
  EXPECT_EQ(in_bash({"commensal", "account", "signup", "inv"}), "\n") << "one is enough";
  EXPECT_THAT(in_bash({"commensal", "account", "signup", "--sa"}), HasSubstr("--save"));
  EXPECT_EQ(in_bash({"commensal", "stake", "an"}), "announce\n");
  EXPECT_EQ(in_bash({"commensal", "zzz"}), "\n");
  EXPECT_EQ(in_bash({"commensal", "help", "prov"}), "providers provider\n");
  EXPECT_EQ(in_bash({"commensal", "help", "provider", "stat"}), "status\n");
  EXPECT_EQ(in_bash({"commensal", "config", "show", "gat"}), "gateway\n");
  EXPECT_THAT(in_bash({"commensal", "config", "show", "--j"}), HasSubstr("--json"));
  EXPECT_THAT(in_bash({"commensal", ""}), Not(HasSubstr("manual"))) << "it is for builds";
}

TEST_F(Told, EveryShellTakesWhatIsMadeForIt) {
  for (const Program* program : {&commensal_program(), &lab_program()}) {
    for (const std::string shell : {"bash", "zsh", "fish"}) {
      const std::string text = completion(shell, *program);
      EXPECT_THAT(text, HasSubstr(program->commands.front().name));
      if (!is_there(shell)) continue;
      EXPECT_EQ(output_of(shell + " -n '" + save("script", text) + "'"), "") << shell;
    }
  }
  EXPECT_FALSE(completion_for("tcsh", CommandLine(commensal_program()).app()));
}

TEST_F(Told, FishCompletes) {
  if (!is_there("fish")) GTEST_SKIP() << "no fish";
  const std::string script = save("commensal.fish", completion("fish"));
  const auto in_fish = [&](const std::string& line) {
    return output_of("HOME='" + folder_.string() + "' fish -c \"source '" + script +
                     "'; complete -C '" + line + "'\"");
  };
  EXPECT_THAT(in_fish("commensal prov"), HasSubstr("provider\t"));
  EXPECT_THAT(in_fish("commensal gateway --worker "), HasSubstr("process"));
  EXPECT_THAT(in_fish("commensal provider stat"), HasSubstr("status"));
  EXPECT_THAT(in_fish("commensal account sig"), HasSubstr("signup"));
  EXPECT_THAT(in_fish("commensal account signup inv"), Not(HasSubstr("invite")));
  EXPECT_THAT(in_fish("commensal account signup --sa"), HasSubstr("--save"));
}

TEST_F(Told, ZshCompletes) {
  if (!is_there("zsh")) GTEST_SKIP() << "no zsh";
  // Without a terminal: what would be offered is printed in place of being offered.
  const std::string script = save(
      "script",
      "_describe() { local of=${@[-1]}; print -l -- \"${(@P)of}\" }\n_files() { print files }\n"
      "compadd() { print -l -- \"${(@P)2}\" }\ncompdef() { }\n" +
          completion("zsh") +
          "words=(commensal '') CURRENT=2 && _commensal\n"
          "words=(commensal gateway --worker '') CURRENT=4 && _commensal\n"
          "words=(commensal provider status --) CURRENT=4 && _commensal\n"
          "words=(commensal account '') CURRENT=3 && _commensal\n"
          "words=(commensal account signup '') CURRENT=4 && _commensal\n"
          "words=(commensal inspect '') CURRENT=3 && _commensal\n");
  const std::string said = output_of("zsh -f '" + script + "'");
  EXPECT_THAT(said, HasSubstr("provider:Serve a gateway with this machine\n"));
  EXPECT_THAT(said, HasSubstr("\nprocess\nthread\n"));
  EXPECT_THAT(said, HasSubstr("\n--watch:"));
  EXPECT_THAT(said, HasSubstr("\nsignup\n"));
  EXPECT_THAT(said, ::testing::EndsWith("\nfiles\nfiles\n"));
}

}  // namespace
}  // namespace commensal::apps
