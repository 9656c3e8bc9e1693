// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/spawn.hpp>
#include <commensal/serve/worker/process.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>

namespace commensal::worker {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("it ended with status {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGSYS) return "it asked the system for what workers may not have (SIGSYS)";
  return fmt::format("it was ended by SIG{}", ::sigabbrev_np(signal));
}

/// The rest is nobody's to read: tokens, above all.
std::vector<std::string> environment() {
  std::vector<std::string> kept;
  for (const char* name :
       {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) kept.push_back(fmt::format("{}={}", name, value));
  }
  return kept;
}

}  // namespace

Result<Process> Process::start(const Program& program, const std::vector<int>& files) {
  core::Spawn what{.command = {program.path.string(), program.word},
                   .files = {core::Spawn::kNothing, core::Spawn::kNothing, core::Spawn::kNothing},
                   .environment = environment(),
                   .has_own_group = true};  // Ctrl-C is the parent's, which ends its workers itself
  what.files.insert(what.files.end(), files.begin(), files.end());
  const auto pid = core::spawn(what);
  if (pid) return Process(*pid);
  return fail(ErrorCode::kUnavailable, "no worker: {}", pid.error().message);
}

Process::Process(pid_t pid)
    : pid_(pid),
      tasks_(::open(fmt::format("/proc/{}/task", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}
Process::~Process() { end(); }

bool Process::is_alive() const {
  siginfo_t ended{};
  return pid_ != 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

std::int64_t Process::cpu_ns() const { return pid_ == 0 ? 0 : core::child_cpu_ns(pid_); }

std::int64_t Process::threads() const {
  constexpr std::int64_t kLinksOfAFolder = 2;
  struct stat tasks {};  // the folder has one link for each
  if (pid_ == 0 || ::fstat(tasks_.get(), &tasks) != 0) return 0;
  return static_cast<std::int64_t>(tasks.st_nlink) - kLinksOfAFolder;
}

void Process::hold() {
  if (pid_ != 0) ::kill(pid_, SIGSTOP);
}
void Process::release() {
  if (pid_ != 0) ::kill(pid_, SIGCONT);
}

std::string Process::end() {
  if (pid_ == 0) return "it has ended";
  ::kill(pid_, SIGKILL);  // what it died of before stands
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return how_it_ended(status);
}

Starter::Starter(std::function<void()> ready_thread)
    : thread_([this, ready = std::move(ready_thread)] { run(ready); }) {}

Starter::~Starter() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Starter::run(const std::function<void()>& ready_thread) {
  if (ready_thread) ready_thread();
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_over_ || task_; });
    if (!task_) return;
    task_();
    task_ = nullptr;
    changed_.notify_all();
  }
}

Result<Process> Starter::start(const Program& program, const std::vector<int>& files) {
  const auto started = std::make_shared<std::promise<Result<Process>>>();
  auto result = started->get_future();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !task_; });
    task_ = [&program, &files, started] { started->set_value(Process::start(program, files)); };
  }
  changed_.notify_all();
  return result.get();
}

}  // namespace commensal::worker
