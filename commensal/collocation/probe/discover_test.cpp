// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/probe/discover.hpp>
#include <commensal/collocation/probe/testing/fake_server.hpp>

namespace commensal::probe {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Discoveries : public ::testing::Test {
 protected:
  Discoveries() { std::filesystem::create_directories(deps_.proc / "self"); }

  void run_process(int pid, const std::string& name, const std::vector<std::string>& arguments) {
    const core::Path folder = deps_.proc / std::to_string(pid);
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "stat") << bent(recorded("stat.txt"), "(a (b) c) d)", "(" + name + ")");
    std::ofstream line(folder / "cmdline");
    for (const std::string& argument : arguments) line << argument << '\0';
  }

  const core::TemporaryFolder folder_ = *core::TemporaryFolder::make("discover");
  const core::SystemClock clock_;
  const Dependencies deps_{clock_, folder_.path() / "proc"};
};

FakeServer::Script answers(const std::string& file) {
  return [text = http_text(recorded(file))](int socket, const std::string&) {
    FakeServer::put(socket, text);
  };
}

TEST_F(Discoveries, FindNothingWhereNothingIs) {
  run_process(1, "init", {"/sbin/init"});
  const Discovery made = discover(deps_, {});
  EXPECT_THAT(made.found, IsEmpty());
  EXPECT_THAT(made.hints, IsEmpty());
}

TEST_F(Discoveries, TryTheDoors) {
  FakeServer xmrig(answers("xmrig.json"));
  FakeServer trex(answers("trex.json"));
  FakeServer web(
      [](int socket, const std::string&) { FakeServer::put(socket, http_text("<html></html>")); });
  const std::vector<Door> doors = {{find_miner("gminer"), xmrig.port()},
                                   {find_miner("xmrig"), web.port()},
                                   {find_miner("xmrig"), xmrig.port()},
                                   {find_miner("xmrig"), trex.port()},
                                   {find_miner("trex"), trex.port()}};
  const Discovery made = discover(deps_, doors);
  ASSERT_THAT(made.found, SizeIs(2));
  EXPECT_EQ(made.found[0].spec, "xmrig:" + xmrig.url());
  EXPECT_THAT(made.found[0].reason, HasSubstr("answers as xmrig does"));
  EXPECT_EQ(made.found[1].spec, "trex:" + trex.url());
  for (const Found& one : made.found) EXPECT_TRUE((*open(one.spec, deps_))->sample().is_fresh());
}

TEST_F(Discoveries, FindAMinerThatHasNoFigureYet) {
  FakeServer server([](int socket, const std::string&) {
    FakeServer::put(socket, http_text(bent(recorded("xmrig.json"), "[1207.19", "[null")));
  });
  const Discovery made = discover(deps_, {{find_miner("xmrig"), server.port()}});
  ASSERT_THAT(made.found, SizeIs(1));
}

TEST_F(Discoveries, AskWhereAProcessSaysItListens) {
  FakeServer lolminer(answers("lolminer.json"));
  const std::string port = std::to_string(lolminer.port());
  run_process(12, "lolMiner", {"./lolMiner", "--algo", "ETHASH", "--apiport", port});
  run_process(13, "nbminer", {"./nbminer", "--api=0.0.0.0:1"});
  run_process(14, "xmrig", {"./xmrig", "--donate-level", "1"});
  const Discovery made = discover(deps_, {});
  ASSERT_THAT(made.found, SizeIs(2));
  EXPECT_EQ(made.found[0].spec, "lolminer:" + lolminer.url());
  EXPECT_THAT(made.found[0].reason, HasSubstr("process 12"));
  EXPECT_EQ(made.found[1].spec, "process:14");
  EXPECT_THAT(made.found[1].reason, HasSubstr("CPU time is its progress"));
  ASSERT_THAT(made.hints, SizeIs(1));
  EXPECT_THAT(made.hints[0], HasSubstr("'nbminer' runs as process 13, but shows no rate"));
}

TEST_F(Discoveries, PreferAnInterfaceToCpuTime) {
  FakeServer xmrig(answers("xmrig.json"));
  run_process(14, "xmrig", {"./xmrig", "--http-port=" + std::to_string(xmrig.port())});
  const Discovery made = discover(deps_, {{find_miner("xmrig"), xmrig.port()}});
  ASSERT_THAT(made.found, SizeIs(1));
  EXPECT_EQ(made.found[0].spec, "xmrig:" + xmrig.url());
}

}  // namespace
}  // namespace commensal::probe
