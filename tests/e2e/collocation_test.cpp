// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <commensal/base/core/file.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <tests/e2e/process.hpp>

namespace commensal::e2e {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string text_of(const std::string& path) {
  const auto bytes = core::read_file(path, 1 << 20);
  return bytes ? std::string(core::as_text(*bytes)) : "";
}

// The kernel of the first source: two blocks, and 13 % of the shared memory left.
TEST(Collocation, ProfilesAKernel) {
  const Folder folder;
  const std::string svg = folder.at("kernel.svg");
  int status = -1;
  const Json found = Json::parse(
      run({"profile", "--kernel", "--device", "gtx-1080", "--threads", "1024",
           "--registers-per-block", "32768", "--shared", "42756", "--svg", svg, "--json"},
          status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(found["blocks"], 2);
  EXPECT_EQ(found["limits"], Json({"threads", "registers", "shared memory"}));
  EXPECT_NEAR(found["resources"][3]["left"].get<double>(), 0.1301, 0.0001);
  EXPECT_THAT(text_of(svg), HasSubstr(">13 %<"));
}

TEST(Collocation, ListsDevices) {
  int status = -1;
  EXPECT_THAT(run({"profile", "--list"}, status), HasSubstr("h200-141     Hopper    9.0"));
  EXPECT_EQ(status, 0);
  run({"profile"}, status);
  EXPECT_EQ(status, 1);
  run({"profile", "--kernel", "--device", "gtx-9999", "--threads", "1", "--registers", "1"},
      status);
  EXPECT_EQ(status, 1);
}

std::string example(const char* name) {
  return std::string(COMMENSAL_SOURCE_DIR) + "/examples/collocation/" + name;
}

TEST(Collocation, PlansTheExamples) {
  int status = -1;
  const Json small = Json::parse(run({"plan", "--guest", example("small.yaml"), "--guest",
                                      example("small.yaml"), "--device", "a100-40", "--json"},
                                     status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(small["candidates"].size(), 5U);
  EXPECT_EQ(small["winner"], "MIG");  // 4g and 3g: each is enough for one
  const std::string table =
      run({"plan", "--host", example("large.yaml"), "--guest", example("small.yaml")}, status);
  EXPECT_EQ(status, 0);
  EXPECT_THAT(table, HasSubstr("resnet26-cifar10"));
  EXPECT_THAT(table, HasSubstr("not movable"));
  run({"plan", "--guest", example("tiny.yaml")}, status);
  EXPECT_EQ(status, 1);
}

// A process that sleeps is measured, and what is written the planner reads.
TEST(Collocation, ProfilesAProcessForThePlanner) {
  const Folder folder;
  const std::string pid = std::to_string(getpid());
  int status = -1;
  const Json seen =
      Json::parse(run({"profile", "--pid", pid, "--seconds", "0.5", "--out", folder.at("own.yaml"),
                       "--svg", folder.at("own.svg"), "--json"},
                      status));
  ASSERT_EQ(status, 0);
  EXPECT_LT(seen["processors_own"].get<double>(), 0.5);
  EXPECT_GT(seen["resident_gib"].get<double>(), 0);
  EXPECT_TRUE(seen["bandwidth_share"].is_null());
  EXPECT_THAT(text_of(folder.at("own.svg")), HasSubstr(">processors, by it<"));
  const Json plan = Json::parse(
      run({"plan", "--host", folder.at("own.yaml"), "--guest", folder.at("own.yaml"), "--json"},
          status));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(plan["device"], "cpu");
}

}  // namespace
}  // namespace commensal::e2e
