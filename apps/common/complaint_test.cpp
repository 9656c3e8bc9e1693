// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <apps/common/complaint.hpp>
#include <nlohmann/json.hpp>

namespace commensal::apps {
namespace {

TEST(Complaint, IsJsonWhereJsonWasAskedFor) {
  const core::Error error{core::ErrorCode::kNotFound, "no \"x\""};
  ::testing::internal::CaptureStdout();
  complain(true, "commensal infer", error);
  const auto said = nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  EXPECT_EQ(said.at("error").at("code"), "not-found");
  EXPECT_EQ(said.at("error").at("message"), "no \"x\"");
  ::testing::internal::CaptureStderr();
  complain(false, "commensal infer", error);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "commensal infer: no \"x\"\n");
}

TEST(Complaint, AFlagAsksForJsonAFileDoesNot) {
  const struct {
    std::vector<std::string> words;
    bool wants;
  } cases[] = {{{"flag"}, false},
               {{"flag", "--json"}, true},
               {{"flag", "inner", "--json"}, true},
               {{"file", "--json", "report.json"}, false}};
  for (const auto& row : cases) {
    CLI::App app;
    bool json = false, inner_json = false;
    std::string file;
    CLI::App* flag = app.add_subcommand("flag", "");
    flag->add_flag("--json", json, "");
    flag->add_subcommand("inner", "")->add_flag("--json", inner_json, "");
    app.add_subcommand("file", "")->add_option("--json", file, "");
    std::vector<std::string> reversed(row.words.rbegin(), row.words.rend());
    app.parse(reversed);
    EXPECT_EQ(wants_json(*app.get_subcommands().front()), row.wants) << row.words.back();
  }
}

}  // namespace
}  // namespace commensal::apps
