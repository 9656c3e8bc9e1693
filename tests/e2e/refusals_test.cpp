// SPDX-License-Identifier: Apache-2.0
// What would run on unsafe, or not at all, is refused at once.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include <tests/e2e/process.hpp>

namespace commensal::e2e {
namespace {

using ::testing::HasSubstr;
using Words = std::vector<std::string>;

#ifdef __aarch64__
constexpr const char* kForeignIsa = "avx2";
#else
constexpr const char* kForeignIsa = "neon";
#endif

void expect_refused(Words words, const char* says) {
  words.push_back("--json");
  int status = 0;
  const auto said = nlohmann::json::parse(run(words, status), nullptr, false);
  EXPECT_EQ(status, 1) << words[0];
  ASSERT_TRUE(said.contains("error")) << words[0];
  EXPECT_THAT(said["error"]["message"], HasSubstr(says)) << words[0];
}

// As another user's are, to everybody but root: a name that is too long is refused alike.
TEST(Refusals, OfFoldersThatCannotBeLookedAt) {
  const std::string folder = "/" + std::string(300, 'x');
  for (Words words : {Words{"ledger", "verify"}, Words{"gateway"}, Words{"tickets"},
                      Words{"risk", "0x" + std::string(40, '1')}}) {
    words.insert(words.end(), {"--data-dir", folder});
    expect_refused(words, "File name too long");
  }
}

TEST(Refusals, OfWhatWouldNotBeSafe) {
  expect_refused({"models", "--gateway", "http://127.0.0.1:1", "--pin", std::string(64, 'a')},
                 "is not encrypted, and --pin");
  expect_refused({"provider", "--host", ""}, "expected KIND:WHERE");
}

TEST(Refusals, OfAnInstructionSetThatIsNotHere) {
  expect_refused({"provider", "--isa", kForeignIsa}, "this machine lacks it");
}

}  // namespace
}  // namespace commensal::e2e
