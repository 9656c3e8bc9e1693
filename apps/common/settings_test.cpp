// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <apps/common/program.hpp>
#include <apps/common/settings.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

/// What the command below was given, as it would use it.
struct Served {
  std::string http = "127.0.0.1:8080";
  std::string db;
  int price = 12000;
  std::vector<std::string> hosts;
  bool audit = true;
  bool plain = false;
  bool tls = false;
  std::string token_file;
};

Served served;  // of the last run

Run declare_served(CLI::App& app) {
  const auto options = std::make_shared<Served>();
  app.add_option("--http", options->http, "IP:PORT")->capture_default_str();
  CLI::Option* const db =
      app.add_option("--db", options->db, "State")->envname("COMMENSAL_TEST_DB");
  app.add_option("--price", options->price, "Units")->check(CLI::Range(1, 100000));
  app.add_option("--host", options->hosts, "Names");
  app.add_flag("--audit,!--no-audit", options->audit, "Look again");
  app.add_flag("--plain", options->plain, "No TLS")
      ->excludes(app.add_flag("--tls", options->tls, "TLS"))
      ->excludes(app.add_flag("--old")->description("As long ago"));
  app.add_flag("--in-memory")->description("No state")->excludes(db);
  CLI::App* inner = app.add_subcommand("status", "How it is");
  inner->add_flag("--watch");
  return [options]() -> core::Result<int> {
    served = *options;
    return 0;
  };
}

Run declare_asker(CLI::App& app) {
  const auto options = std::make_shared<Served>();
  app.add_option("--gateway", options->http, "URL (default: $COMMENSAL_TEST_GATEWAY)");
  app.add_option("--token-file", options->token_file, "File (default: $COMMENSAL_TEST_TOKEN)");
  app.add_option("--pin", options->db, "Pin");
  app.add_option("--ca", options->db, "File");
  app.add_flag("--json");
  return [options]() -> core::Result<int> {
    served = *options;
    return 0;
  };
}

constexpr Command kCommands[] = {{"serve", kEverybody, "serve", "Serve", "p serve", declare_served},
                                 {"ask", kEverybody, "ask", "Ask", "p ask", declare_asker}};
constexpr Program kServing = {"p", "a program", "1", kCommands, true};

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = core::Path(::testing::TempDir()) / fmt::format("commensal_settings_{}", ::getpid());
    std::filesystem::create_directories(folder_);
    places_.files = {folder_ / "user.yaml", folder_ / "system.yaml"};
    served = {};
  }
  void TearDown() override {
    for (const char* name :
         {"COMMENSAL_TEST_DB", "COMMENSAL_TEST_GATEWAY", "COMMENSAL_TEST_TOKEN"}) {
      ::unsetenv(name);
    }
    std::filesystem::remove_all(folder_);
  }

  void user(const std::string& text) { std::ofstream(places_.files[0]) << text; }
  void system(const std::string& text) { std::ofstream(places_.files[1]) << text; }

  /// The line of a failure; empty: none.
  std::string run(std::vector<std::string> words) {
    ::testing::internal::CaptureStderr();
    const int status = CommandLine(kServing).run(std::move(words), places_);
    std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(status == 0, said.empty()) << said;
    return said;
  }
  std::string at(int line) { return fmt::format("{}:{}: ", places_.files[0].string(), line); }

  core::Path folder_;
  SettingsPlaces places_;
};

TEST_F(SettingsTest, FlagThenVariableThenUserThenSystemThenDefault) {
  system("serve:\n  http: system\n  db: system\n  price: 1\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.http, "system");
  EXPECT_EQ(served.price, 1);
  user("serve:\n  http: user\n  db: user\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.http, "user");
  EXPECT_EQ(served.db, "user");
  EXPECT_EQ(served.price, 1) << "what the user's file does not say";
  ::setenv("COMMENSAL_TEST_DB", "variable", 1);
  EXPECT_EQ(run({"serve", "--http", "flag"}), "");
  EXPECT_EQ(served.http, "flag");
  EXPECT_EQ(served.db, "variable");
  EXPECT_EQ(run({"serve", "--http=flag", "--db=flag"}), "");
  EXPECT_EQ(served.db, "flag");
}

TEST_F(SettingsTest, NothingIsReadWhereThereIsNothing) {
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.http, "127.0.0.1:8080");
  user("# all of it is a comment\n");
  EXPECT_EQ(run({"serve"}), "");
  user("serve:\n#  http: x\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.http, "127.0.0.1:8080");
}

TEST_F(SettingsTest, ListsAndFlags) {
  user("serve:\n  host: [a, b]\n  audit: false\n  plain: true\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.hosts, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(served.audit);
  EXPECT_TRUE(served.plain);
  user("serve:\n  no-audit: true\n  plain: false\n  host: a\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_FALSE(served.audit);
  EXPECT_FALSE(served.plain);
  EXPECT_EQ(run({"serve", "--audit"}), "");
  EXPECT_TRUE(served.audit) << "the command line comes first";
}

TEST_F(SettingsTest, AFlagTakesAwayWhatItExcludes) {
  user("serve:\n  plain: true\n");
  EXPECT_EQ(run({"serve", "--tls"}), "");
  EXPECT_FALSE(served.plain);
}

TEST_F(SettingsTest, ANearerFileTakesAwayWhatItExcludes) {
  system("serve:\n  plain: true\n");
  user("serve:\n  tls: true\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_TRUE(served.tls);
  EXPECT_FALSE(served.plain);
  user("serve:\n  tls: false\n");
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_TRUE(served.plain) << "what is false excludes nothing";
  user("serve:\n  plain: true\n");
  system("serve:\n  tls: true\n");
  EXPECT_EQ(run({"serve", "--old"}), "");
  EXPECT_TRUE(served.tls) << "what was taken away takes nothing away";
  EXPECT_FALSE(served.plain);
}

TEST_F(SettingsTest, AVariableTakesAwayWhatAFileSaysAndAFlagTheVariable) {
  user("serve:\n  in-memory: true\n");
  ::setenv("COMMENSAL_TEST_DB", "variable", 1);
  EXPECT_EQ(run({"serve"}), "");
  EXPECT_EQ(served.db, "variable");
  EXPECT_EQ(run({"serve", "--in-memory"}), "");
  EXPECT_EQ(served.db, "");
}

TEST_F(SettingsTest, OfOneFileTwoThatExcludeEachOtherAreRefused) {
  user("serve:\n  tls: true\n  plain: true\n");
  EXPECT_THAT(run({"serve"}),
              ::testing::AllOf(HasSubstr("--plain excludes --tls (line 2)"), HasSubstr(at(3))));
  EXPECT_EQ(run({"serve", "--old"}), "") << "one of them is taken away";
  EXPECT_TRUE(served.tls);
  EXPECT_THAT(run({"serve", "--tls", "--plain"}), HasSubstr("excludes"));
}

TEST_F(SettingsTest, ClientsHaveASectionOfTheirOwn) {
  user("client:\n  gateway: all\n  token-file: all\nask:\n  gateway: own\n");
  EXPECT_EQ(run({"ask"}), "");
  EXPECT_EQ(served.http, "own");
  EXPECT_EQ(served.token_file, "all");
  ::setenv("COMMENSAL_TEST_GATEWAY", "x", 1);
  ::setenv("COMMENSAL_TEST_TOKEN", "x", 1);
  EXPECT_EQ(run({"ask"}), "");
  EXPECT_EQ(served.token_file, "") << "the command reads the variable itself";
  user("client:\n  json: true\n");
  EXPECT_THAT(run({"ask"}), HasSubstr(at(2) + "'client' has no flag 'json'; there are gateway"));
}

TEST_F(SettingsTest, WhatIsWrongIsALineWithItsPlace) {
  const std::pair<const char*, std::string> cases[] = {
      {"serve:\n  htp: x\n", at(2) + "'serve' has no flag 'htp'; did you mean 'http'?"},
      {"\nsrve:\n  http: x\n", at(2) + "no command 'srve'; did you mean 'serve'?"},
      {"serve:\n  http:\n    port: 1\n", at(2) + "'http': expected one value, or a list of them"},
      {"serve:\n  http:\n", at(2) + "'http': expected one value, or a list of them"},
      {"serve:\n  http: [a, b]\n", at(2) + "'http': expected one value, not a list"},
      {"serve:\n  host: [[a]]\n", at(2) + "'host': expected one value, or a list of them"},
      {"serve:\n  host: []\n", at(2) + "'host': the list is empty"},
      {"serve:\n  plain: maybe\n", at(2) + "'plain': expected true or false, not 'maybe'"},
      {"serve:\n  price: cheap\n", at(2)},
      {"serve:\n  price: 0\n", at(2)},
      {"serve:\n  help: true\n", at(2) + "'serve' has no flag 'help'"},
      {"serve: 5\n", at(1) + "'serve': expected a section"},
      {"http: x\n", at(1)},
      {"- serve\n", at(1) + "expected sections"},
      {"serve:\n  price: 1\n  price: 2\n", at(3) + "'price' stands in line 2 already"},
      {"serve:\n  price: 1\nserve:\n  price: 2\n", at(3) + "'serve' stands in line 1 already"},
      {"serve:\n  http: [a\n", "no YAML: "},
      {"serve:\n\thttp: a\n", at(2) + "no YAML: "},
  };
  for (const auto& [text, expected] : cases) {
    user(text);
    const std::string said = run({"serve"});
    EXPECT_THAT(said, HasSubstr(expected)) << text;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << said;
  }
  user("serve:\n  nonsense: 1\n");
  EXPECT_THAT(run({"ask"}), HasSubstr("no flag 'nonsense'")) << "whatever the command";
}

TEST_F(SettingsTest, WhatCannotBeReadIsNotAbsent) {
  std::filesystem::create_directories(places_.files[0]);
  EXPECT_THAT(run({"serve"}), HasSubstr(places_.files[0].string()));
  std::filesystem::remove_all(places_.files[0]);
  user(std::string(1 << 17, '#'));
  EXPECT_THAT(run({"serve"}), HasSubstr(places_.files[0].string()));
  if (::geteuid() == 0) return;  // reads all
  user("serve:\n");
  ::chmod(places_.files[0].c_str(), 0);
  EXPECT_THAT(run({"serve"}), HasSubstr("cannot"));
}

TEST_F(SettingsTest, HelpAndSubcommandsAreLeftAlone) {
  user("nonsense: 1\n");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run({"serve", "--help"}), "");
  EXPECT_EQ(run({"help", "serve"}), "");
  EXPECT_EQ(run({"completion", "bash"}), "");
  ::testing::internal::GetCapturedStdout();
  user("serve:\n  price: 5\nserve status:\n  watch: true\n");
  EXPECT_EQ(run({"serve", "status"}), "");
  EXPECT_EQ(served.price, 12000) << "the section is of the command above";
}

TEST(Settings, TheVariableOfAnOptionIsTheOneThatItNames) {
  CLI::App app;
  EXPECT_EQ(variable_of(*app.add_option("--a", "See $COMMENSAL_A, or else")), "COMMENSAL_A");
  EXPECT_EQ(variable_of(*app.add_option("--b", "(default: $COMMENSAL_B_C)")), "COMMENSAL_B_C");
  EXPECT_EQ(variable_of(*app.add_option("--c", "In $HOME")), "");
  EXPECT_EQ(variable_of(*app.add_option("--d", "x")->envname("E")), "E");
}

}  // namespace
}  // namespace commensal::apps
