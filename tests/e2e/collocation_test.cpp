// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const Json found = Json::parse(run({"profile", "--kernel", "--device", "gtx-1080", "--threads",
                                      "1024", "--registers-per-block", "32768", "--shared",
                                      "42756", "--svg", svg, "--json"},
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
  run({"profile", "--kernel", "--device", "gtx-9999", "--threads", "1", "--registers", "1"},
      status);
  EXPECT_EQ(status, 1);
}

}  // namespace
}  // namespace commensal::e2e
