// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/spawn.hpp>
#include <csignal>
#include <thread>

namespace commensal::core {
namespace {

/// What a shell says on descriptor 1, whose own are 0 and 1 and those of `more`.
std::string said(const std::string& script, const std::vector<int>& more = {}) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Descriptor out(ends[0]);
  Spawn what{.command = {"sh", "-c", script}, .files = {Spawn::kNothing, ends[1]}};
  what.files.insert(what.files.end(), more.begin(), more.end());
  const auto pid = spawn(what);
  EXPECT_TRUE(pid) << (pid ? "" : pid.error().message);
  ::close(ends[1]);
  std::string text;
  for (char c = 0; ::read(out.get(), &c, 1) == 1;) text.push_back(c);
  EXPECT_EQ(::waitpid(*pid, nullptr, 0), *pid);
  return text;
}

TEST(Spawn, HasItsOwnDescriptorsAlone) {
  const Descriptor secret(::dup(0));  // not even closed on exec
  EXPECT_EQ(said("for f in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$f ] && printf $f; done"),
            "01");
}

TEST(Spawn, GetsTheFilesInTheirOrderWhateverTheirNumbersAre) {
  std::array<int, 2> words{}, others{};
  ASSERT_EQ(::pipe2(words.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(others.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::write(words[1], "words\n", 6), 6);
  ASSERT_EQ(::write(others[1], "others\n", 7), 7);
  // Its 2 is nothing, and each lies where another one shall be.
  EXPECT_EQ(
      said("read a <&4; read b <&3; printf \"$a $b\"", {Spawn::kNothing, others[0], words[0]}),
      "words others");
  for (const auto& pipe : {words, others}) {
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
}

TEST(Spawn, HasTheEnvironmentThatItIsGiven) {
  const auto status = [](std::optional<std::vector<std::string>> environment) {
    ::setenv("COMMENSAL_SPAWN_TEST", "secret", 1);
    const auto pid = spawn({.command = {"sh", "-c", "exit ${COMMENSAL_SPAWN_TEST:+1}${GIVEN:-0}"},
                            .files = {},
                            .environment = std::move(environment)});
    ::unsetenv("COMMENSAL_SPAWN_TEST");
    int how = 0;
    EXPECT_EQ(::waitpid(pid.value(), &how, 0), *pid);
    return WEXITSTATUS(how);
  };
  EXPECT_EQ(status({}), 10);
  EXPECT_EQ(status(std::vector<std::string>{}), 0);
  EXPECT_EQ(status(std::vector<std::string>{"GIVEN=7"}), 7);
}

TEST(Spawn, BlocksAndIgnoresNothing) {
  sigset_t usr1, before;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, &before);
  const auto handler = ::signal(SIGUSR2, SIG_IGN);
  EXPECT_EQ(said("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f 2 | tr -d '\\n'"),
            "00000000000000000000000000000000");
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_TRUE(::sigismember(&after, SIGUSR1));  // our own are as they were
  ::signal(SIGUSR2, handler);
}

TEST(Spawn, EndsWithTheThreadThatAskedForThat) {
  pid_t pid = 0;
  std::thread starter([&] {
    pid = spawn({.command = {"sleep", "60"}, .files = {}, .death_signal = SIGKILL}).value();
  });
  starter.join();
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

TEST(Spawn, SaysThatThereIsNoSuchProgram) {
  for (const char* program : {"/nowhere/program", "no-such-program", "/proc/self"}) {
    const auto made = spawn({.command = {program}, .files = {}});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, ErrorCode::kNotFound);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // nothing is left of them
}

}  // namespace
}  // namespace commensal::core
