// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/base/core/child_process.hpp>

namespace commensal::core {
namespace {

/// In the child: only what is safe after a fork of a process with threads.
[[noreturn]] void become(char* const* command, int out, int log) {
  // Who starts it ends it, even where it is killed itself.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(out, STDOUT_FILENO);
  if (log >= 0) ::dup2(log, STDERR_FILENO);
  ::execv(command[0], command);
  ::_exit(127);
}

}  // namespace

Result<ChildProcess> ChildProcess::start(std::vector<std::string> command, const Path& log) {
  if (::access(command.front().c_str(), X_OK) != 0) {
    return fail(ErrorCode::kNotFound, "'{}' cannot be started", command.front());
  }
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kResourceExhausted, "no pipe");
  ChildProcess made;
  made.out_ = ends[0];
  const int log_file =
      log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t pid = ::fork();
  if (pid == 0) become(pointers.data(), ends[1], log_file);
  ::close(ends[1]);
  if (log_file >= 0) ::close(log_file);
  if (pid < 0) return fail(ErrorCode::kResourceExhausted, "no process for '{}'", command.front());
  made.pid_ = pid;
  return made;
}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(out_, other.out_);
  return *this;
}

ChildProcess::~ChildProcess() {
  signal(SIGKILL);
  wait();
  if (out_ >= 0) ::close(out_);
}

void ChildProcess::signal(int number) const {
  if (pid_ != 0) ::kill(pid_, number);
}

void ChildProcess::wait() {
  while (pid_ != 0 && ::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

bool ChildProcess::is_running() {
  if (pid_ != 0 && ::waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = 0;
  return pid_ != 0;
}

Result<std::string> ChildProcess::read_line(int wait_ms, std::size_t bytes_max) {
  std::string line;
  while (line.size() < bytes_max) {
    pollfd wait{out_, POLLIN, 0};
    char c = 0;
    if (::poll(&wait, 1, wait_ms) <= 0 || ::read(out_, &c, 1) != 1) {
      return fail(ErrorCode::kUnavailable, "it ended, or said nothing for {} ms", wait_ms);
    }
    if (c == '\n') return line;
    line.push_back(c);
  }
  return fail(ErrorCode::kResourceExhausted, "a line of more than {} bytes", bytes_max);
}

}  // namespace commensal::core
