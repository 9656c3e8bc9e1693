// SPDX-License-Identifier: Apache-2.0
// `commensal config show`, of the product's own commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <apps/commensal/table.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ConfigShow : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("commensal_config_{}", ::getpid());
    std::filesystem::create_directories(folder_ / "commensal");
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    write(
        "gateway:\n"
        "  http: 127.0.0.1:9999\n"
        "  no-money: true\n"
        "client:\n"
        "  gateway: https://alice:hunter2@gateway.example\n");
  }
  void TearDown() override {
    for (const char* name : {"XDG_CONFIG_HOME", "COMMENSAL_DB", "COMMENSAL_TOKEN"}) {
      ::unsetenv(name);
    }
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& text) { std::ofstream(file()) << text; }
  std::string file() const { return (folder_ / "commensal" / "config.yaml").string(); }

  /// What is printed; of a failure, the line.
  std::string show(std::vector<std::string> words, int expected = 0) {
    words.insert(words.begin(), {"config", "show"});
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(CommandLine(commensal_program()).run(words), expected);
    std::string said = ::testing::internal::GetCapturedStderr();
    return said + ::testing::internal::GetCapturedStdout();
  }

  std::filesystem::path folder_;
};

TEST_F(ConfigShow, SaysWhereEachValueIsFrom) {
  ::setenv("COMMENSAL_DB", "postgresql://commensal:hunter2@db/commensal", 1);
  const auto said =
      nlohmann::json::parse(show({"gateway", "--price", "24000", "--json"}))["commands"]["gateway"];
  EXPECT_EQ(said["http"]["value"], "127.0.0.1:9999");
  EXPECT_EQ(said["http"]["from"], "file");
  EXPECT_EQ(said["http"]["where"], file() + ":2");
  EXPECT_EQ(said["no-money"]["where"], file() + ":3");
  EXPECT_EQ(said["price"]["from"], "flag");
  EXPECT_EQ(said["price"]["value"], "24000");
  EXPECT_EQ(said["db"]["value"], "(set)");
  EXPECT_EQ(said["db"]["from"], "environment");
  EXPECT_EQ(said["db"]["where"], "COMMENSAL_DB");
  EXPECT_EQ(said["providers"]["from"], "default");
  EXPECT_EQ(said["providers"]["value"], "127.0.0.1:8090");
}

TEST_F(ConfigShow, SaysNothingOfWhatIsTakenAway) {
  const auto said = [&](std::vector<std::string> words) {
    words.emplace_back("--json");
    return nlohmann::json::parse(show(words))["commands"]["gateway"];
  };
  EXPECT_EQ(said({"gateway"})["no-money"]["from"], "file");
  const auto paid = said({"gateway", "--face-value", "5"});
  EXPECT_EQ(paid["no-money"]["from"], "default");
  EXPECT_EQ(paid["face-value"]["from"], "flag");
  EXPECT_THAT(show({"gateway", "--face-value", "5", "--no-money"}, 1), HasSubstr(" excludes "));
  write("gateway:\n  no-money: true\n  face-value: 5\n");
  EXPECT_THAT(show({"gateway"}, 1), HasSubstr(file() + ":3: --face-value excludes --no-money"));
}

TEST_F(ConfigShow, SaysOfAllWhatIsSetAndNoSecret) {
  ::setenv("COMMENSAL_TOKEN", "hunter2", 1);
  const std::string all = show({});
  EXPECT_THAT(all, HasSubstr(file() + "\n"));
  EXPECT_THAT(all, HasSubstr("\ngateway\n  http "));
  EXPECT_THAT(all, HasSubstr("environment COMMENSAL_TOKEN"));
  EXPECT_THAT(all, HasSubstr("https://alice:(set)@gateway.example"));
  EXPECT_THAT(all, Not(HasSubstr("hunter2")));
  EXPECT_THAT(all, Not(HasSubstr("default")));
}

TEST_F(ConfigShow, SaysWhatIsWrong) {
  EXPECT_THAT(show({"gatewy"}, 1), HasSubstr("no command 'gatewy'"));
  EXPECT_THAT(show({"gateway", "--prise", "5"}, 1), HasSubstr("no option '--prise'"));
  write("gateway:\n  price: cheap\n");
  EXPECT_THAT(show({}, 1), HasSubstr(file() + ":2: "));
  EXPECT_THAT(show({"provider"}), HasSubstr("provider")) << "of another command";
  write("gateway:\n  htp: x\n");
  EXPECT_THAT(show({"provider"}, 1), HasSubstr(file() + ":2: 'gateway' has no flag 'htp'"));
}

}  // namespace
}  // namespace commensal::apps
