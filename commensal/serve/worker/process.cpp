// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/serve/worker/process.hpp>
#include <csignal>
#include <cstring>
#include <future>
#include <memory>

namespace commensal::worker {

using core::ErrorCode;
using core::Result;

namespace {

constexpr int kFirstFile = 3;

/// What happens to a new process's descriptors, in order.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }

  void hand_over(const std::vector<int>& files) {
    const int count = static_cast<int>(files.size());
    // First out of each other's way, beyond all of them and of the places where they shall be.
    const int parking = std::max(*std::ranges::max_element(files), kFirstFile + count) + 1;
    for (int i = 0; i < count; ++i) {
      ::posix_spawn_file_actions_adddup2(&actions_, files[static_cast<std::size_t>(i)],
                                         parking + i);
    }
    for (int i = 0; i < count; ++i) {
      ::posix_spawn_file_actions_adddup2(&actions_, parking + i, kFirstFile + i);
    }
    for (int i = 0; i < kFirstFile; ++i) {
      ::posix_spawn_file_actions_addopen(&actions_, i, "/dev/null", O_RDWR, 0);
    }
    ::posix_spawn_file_actions_addclosefrom_np(&actions_, kFirstFile + count);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// No signal is blocked or ignored, and those of the terminal go elsewhere: the parent ends its
/// workers itself.
class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals{};
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

std::string how_it_ended(int status) {
  if (WIFEXITED(status)) return fmt::format("it ended with status {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  if (signal == SIGSYS) return "it asked the system for what workers may not have (SIGSYS)";
  return fmt::format("it was ended by SIG{}", ::sigabbrev_np(signal));
}

}  // namespace

Result<Process> Process::start(const Program& program, const std::vector<int>& files) {
  FileActions actions;
  actions.hand_over(files);
  const Attributes attributes;
  std::string path = program.path.string();
  std::string word = program.word;
  const std::array<char*, 3> arguments{path.data(), word.data(), nullptr};
  pid_t pid = 0;
  const int failure =
      ::posix_spawn(&pid, path.c_str(), actions.get(), attributes.get(), arguments.data(), environ);
  if (failure == 0) return Process(pid);
  return core::fail(ErrorCode::kUnavailable, "cannot start a worker ({}): {}", path,
                    std::strerror(failure));
}

Process::~Process() { end(); }

bool Process::is_alive() const {
  siginfo_t ended{};
  return pid_ != 0 &&
         ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid == 0;
}

std::int64_t Process::cpu_ns() const { return pid_ == 0 ? 0 : core::child_cpu_ns(pid_); }

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
