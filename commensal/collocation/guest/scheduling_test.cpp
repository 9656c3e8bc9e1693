// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <commensal/base/core/temporary_folder.hpp>
#include <commensal/collocation/guest/cgroup.hpp>
#include <commensal/collocation/guest/scheduling.hpp>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

namespace commensal::guest {
namespace {

TEST(Scheduling, IsOfTheThreadAndItsChildren) {
  std::thread([] {
    ASSERT_TRUE(run_when_idle());
    EXPECT_EQ(::sched_getscheduler(0), SCHED_IDLE);
    std::thread([] { EXPECT_EQ(::sched_getscheduler(0), SCHED_IDLE); }).join();
  }).join();
  EXPECT_EQ(::sched_getscheduler(0), SCHED_OTHER);
}

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// In a child, as a session cannot be left again.
TEST(Scheduling, IsOfASessionThatIsItsOwn) {
  if (first_line("/proc/self/autogroup").empty()) GTEST_SKIP() << "this kernel has no autogroups";
  const auto in_child = [](bool leads) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (leads) ::setsid();
      const auto done = step_back_as_session();
      const bool is_back = first_line("/proc/self/autogroup").ends_with("nice 19");
      ::_exit(done.has_value() == leads && is_back == leads ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  };
  EXPECT_TRUE(in_child(true));
  EXPECT_TRUE(in_child(false));
}

TEST(Scheduling, DiesFirst) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(die_first() && first_line("/proc/self/oom_score_adj") == "1000" ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

constexpr std::size_t kTooMuch = 512 << 20;

/// Asks for memory, a page at a time, until something gives.
[[noreturn]] void ask_for_too_much() {
  std::vector<std::unique_ptr<char[]>> all;
  for (std::size_t bytes = 0; bytes < kTooMuch; bytes += 1 << 20) {
    std::unique_ptr<char[]> one(new (std::nothrow) char[1 << 20]);
    if (one == nullptr) ::_exit(3);
    for (std::size_t i = 0; i < 1 << 20; i += 4096) one[i] = 1;
    all.push_back(std::move(one));
  }
  ::_exit(0);
}

/// A host at work beside a guest that is a child of its own: what it has done goes on growing.
class Host {
 public:
  Host() : thread_([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) ++passes_;
  }) {}
  bool goes_on() const {
    const long before = passes_;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return passes_ > before;
  }

 private:
  std::atomic<long> passes_ = 0;
  std::jthread thread_;
};

TEST(Memory, OfAGuestEndsWithItsLimit) {
  const Host host;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!limit_own_memory(128 << 20)) ::_exit(1);
    ask_for_too_much();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_TRUE(host.goes_on());
  EXPECT_FALSE(limit_own_memory(0));
}

// In a real group, where this system has them and we may make one.
TEST(Memory, BeyondAGroupsLimitEndsTheGuestNotTheHost) {
  const Host host;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto group = ControlGroup::enter("/sys/fs/cgroup", ::getpid(), {1, true, 128 << 20});
    if (!group || !group->limits_memory()) ::_exit(77);
    ask_for_too_much();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "no control groups here";
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(host.goes_on());
}

/// A folder that looks like control groups; the kernel's part, making the files of a new group, is
/// done beforehand.
class ControlGroupTest : public testing::Test {
 protected:
  void make(const std::string& folder, std::initializer_list<const char*> files) {
    std::filesystem::create_directories(root() / folder);
    for (const char* file : files) std::ofstream(root() / folder / file);
  }
  std::string read(const std::string& file) const {
    std::ifstream in(root() / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  core::Path root() const { return folder_.path(); }

 private:
  core::TemporaryFolder folder_ = core::TemporaryFolder::make("groups").value();
};

TEST_F(ControlGroupTest, SetsVersionTwo) {
  make(".", {"cgroup.controllers"});
  make("commensal-guest-42",
       {"cgroup.procs", "cpu.weight", "cpu.idle", "memory.max", "memory.swap.max"});
  const auto group = ControlGroup::enter(root(), 42, {3, true, 1 << 30});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->version(), 2);
  EXPECT_TRUE(group->missing().empty());
  EXPECT_TRUE(group->limits_memory());
  EXPECT_EQ(read("commensal-guest-42/cpu.weight"), "3");
  EXPECT_EQ(read("commensal-guest-42/cpu.idle"), "1");
  EXPECT_EQ(read("commensal-guest-42/memory.max"), "1073741824");
  EXPECT_EQ(read("commensal-guest-42/cgroup.procs"), "42");
}

TEST_F(ControlGroupTest, SetsVersionOne) {
  make("cpu", {"cgroup.procs"});
  make("cpu/commensal-guest-42", {"cgroup.procs", "cpu.shares"});
  make("memory/commensal-guest-42", {"cgroup.procs", "memory.limit_in_bytes"});
  const auto group = ControlGroup::enter(root(), 42, {50, false, 1 << 30});
  ASSERT_TRUE(group) << group.error().message;
  EXPECT_EQ(group->version(), 1);
  EXPECT_EQ(read("cpu/commensal-guest-42/cpu.shares"), "512");
  EXPECT_EQ(read("memory/commensal-guest-42/memory.limit_in_bytes"), "1073741824");
}

TEST_F(ControlGroupTest, SaysWhatAnOldKernelLacksAndRemovesOldGroups) {
  make(".", {"cgroup.controllers"});
  make("commensal-guest-42", {"cgroup.procs", "cpu.weight"});
  make("commensal-guest-7", {});
  make("commensal-guest-8", {"cgroup.procs"});  // not empty: the kernel keeps it
  make("host", {});
  const auto group = ControlGroup::enter(root(), 42, {});
  ASSERT_TRUE(group) << group.error().message;
  ASSERT_EQ(group->missing().size(), 1u);
  EXPECT_FALSE(group->limits_memory());
  EXPECT_NE(group->missing()[0].find("cpu.idle"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(root() / "commensal-guest-7"));
  EXPECT_TRUE(std::filesystem::exists(root() / "commensal-guest-8"));
  EXPECT_TRUE(std::filesystem::exists(root() / "host"));
}

TEST_F(ControlGroupTest, RefusesByName) {
  EXPECT_EQ(ControlGroup::enter(root(), 1, {}).error().code, core::ErrorCode::kUnavailable);
  make(".", {"cgroup.controllers"});
  EXPECT_EQ(ControlGroup::enter(root(), 1, {0, true, {}}).error().code,
            core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(ControlGroup::enter(root(), 1, {1, true, 5}).error().code,
            core::ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace commensal::guest
