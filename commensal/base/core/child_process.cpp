// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/base/core/child_process.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/spawn.hpp>

namespace commensal::core {

Result<ChildProcess> ChildProcess::start(std::vector<std::string> command, const Path& log) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kResourceExhausted, "no pipe");
  ChildProcess made;
  made.out_ = ends[0];
  const Descriptor out(ends[1]);
  const Descriptor log_file(
      log.empty() ? -1 : ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  // Who starts it ends it, even where it is killed itself.
  COMMENSAL_ASSIGN(
      made.pid_,
      spawn({.command = std::move(command),
             .files = {STDIN_FILENO, out.get(), log_file.valid() ? log_file.get() : STDERR_FILENO},
             .death_signal = SIGTERM}));
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

std::optional<int> ChildProcess::terminate(int wait_ms) {
  signal(SIGTERM);
  constexpr int kLookMs = 10;
  for (int waited_ms = 0; pid_ != 0 && waited_ms <= wait_ms; waited_ms += kLookMs) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      return WIFEXITED(status) ? std::optional(WEXITSTATUS(status)) : std::nullopt;
    }
    ::poll(nullptr, 0, kLookMs);
  }
  return std::nullopt;
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
