// SPDX-License-Identifier: Apache-2.0
// What would run on unsafe, or not at all, is refused at once.
#include <gmock/gmock.h>

#include <commensal/base/core/file.hpp>
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

bool is_public(const core::Path& file) {
  return file.filename() == "tls-cert.pem" || file.filename() == "terms.json";
}

TEST(Refusals, OfFoldersOfSomethingElse) {
  const Folder folder;
  const std::string own = folder.at("own"), models = folder.at("models");
  Words provider = {"provider", "--gateway", "127.0.0.1:1", "--data-dir", own};
  {
    Words started = provider;
    started.emplace_back("--json");
    EXPECT_NE(Process(started, "/dev/null").read_line(), "");
  }
  expect_refused({"audit", std::string(64, 'a'), "--data-dir", own},
                 "has the role provider, expected gateway");
  const std::string gateways = folder.at("gateways");
  const Words free_ports = {"--http", "127.0.0.1:0", "--providers", "127.0.0.1:0", "--json"};
  {
    Words started = {"gateway", "--data-dir", gateways};
    started.insert(started.end(), free_ports.begin(), free_ports.end());
    EXPECT_NE(Process(started, "/dev/null").read_line(), "");
  }
  expect_refused({"provider", "--gateway", "127.0.0.1:1", "--data-dir", gateways},
                 "has the role gateway, expected provider");
  for (const auto& one : std::filesystem::recursive_directory_iterator(gateways)) {
    if (!one.is_regular_file() || is_public(one.path())) continue;
    EXPECT_EQ(one.status().permissions(), std::filesystem::perms(0600)) << one.path();
  }
  std::filesystem::remove(gateways + "/state.sqlite");
  expect_refused({"provider", "--gateway", "127.0.0.1:1", "--data-dir", gateways},
                 "is a gateway's folder, not a provider's");
  std::filesystem::remove(own + "/key");
  expect_refused(provider, "/key' is missing, and this folder is of 0x");
  const std::string password = folder.at("password");
  ASSERT_TRUE(core::write_file_atomically(password, core::as_bytes("secret\n")));
  provider.insert(provider.end(), {"--password-file", password});
  expect_refused(provider, "/keystore.json' is missing, and this folder is of 0x");
  std::filesystem::create_directories(models + "/digits");
  for (const char* role : {"gateway", "provider"}) {
    expect_refused({role, "--data-dir", models}, "/models' holds other files: expected an empty");
  }
}

TEST(Refusals, OfPicturesThatCannotBeMade) {
  expect_refused({"run", "m.onnx", "--image-scale", "1,0,1"},
                 "--image-scale: a picture cannot be divided by 0");
}

TEST(Refusals, OfAnInstructionSetThatIsNotHere) {
  expect_refused({"provider", "--isa", kForeignIsa}, "this machine lacks it");
}

}  // namespace
}  // namespace commensal::e2e
