// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <commensal/base/core/spawn.hpp>
#include <csignal>
#include <cstring>

namespace commensal::core {
namespace {

/// All that the child needs: until it is another program it has its parent's memory, and may do
/// nothing but call the system.
struct Plan {
  const Spawn& what;
  char* const* command;
  char* const* environment;
  volatile int failure = 0;  // the child's errno, which it leaves for the parent
};

void reset_signals() {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &plain, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool hand_over(const std::vector<int>& files) {
  const int count = static_cast<int>(files.size());
  int parking = count;  // beyond all places: first out of each other's way
  for (const int file : files) parking = std::max(parking, file + 1);
  for (int i = 0; i < count; ++i) {
    const int file = files[static_cast<std::size_t>(i)];
    const int from = file >= 0 ? file : ::open("/dev/null", O_RDWR);
    if (from < 0 || ::dup2(from, parking + i) < 0) return false;
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(parking + i, i) < 0) return false;
  }
  ::closefrom(count);
  return true;
}

[[noreturn]] void become(Plan& plan) {
  reset_signals();
  if (plan.what.has_own_group) ::setpgid(0, 0);
  if (plan.what.death_signal != 0) ::prctl(PR_SET_PDEATHSIG, plan.what.death_signal);
  if (hand_over(plan.what.files)) ::execvpe(plan.command[0], plan.command, plan.environment);
  plan.failure = errno;
  ::_exit(127);
}

/// Ended by nothing, as the system expects them.
std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// A frame of its own, which is left by the parent alone.
[[gnu::noinline]] pid_t start(Plan& plan) {
  const pid_t pid = ::vfork();
  if (pid == 0) become(plan);
  return pid;
}

}  // namespace

Result<pid_t> spawn(const Spawn& what) {
  std::vector<std::string> words = what.command;
  std::vector<std::string> variables = what.environment.value_or(std::vector<std::string>());
  const std::vector<char*> command = pointers_to(words), environment = pointers_to(variables);
  Plan plan{what, command.data(), what.environment ? environment.data() : environ};
  // No handler of this process may run in the child.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = start(plan);
  const int failure = pid < 0 ? errno : plan.failure;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure == 0) return pid;
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  const auto code = pid < 0 ? ErrorCode::kResourceExhausted : ErrorCode::kNotFound;
  return fail(code, "'{}' cannot be started: {}", what.command.front(), std::strerror(failure));
}

}  // namespace commensal::core
