// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/lab/bench/collocation/host_program.hpp>
#include <nlohmann/json.hpp>

namespace commensal::lab::bench::collocation {
namespace {

using core::ErrorCode;
using core::fail;
using core::Result;

constexpr int kPatienceMs = 30'000;

/// In the child: only what is safe after a fork of a process with threads.
[[noreturn]] void become(char* const* command, int out) {
  // Who starts a host ends it, even where it is killed itself.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::dup2(out, STDOUT_FILENO);
  ::execv(command[0], command);
  ::_exit(127);
}

Result<pid_t> spawn(std::vector<std::string> command, int out) {
  if (::access(command.front().c_str(), X_OK) != 0) {
    return fail(ErrorCode::kNotFound,
                "'{}' cannot be started: build the target all, which has the programs of hosts/",
                command.front());
  }
  std::vector<char*> pointers;
  for (std::string& word : command) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) become(pointers.data(), out);
  if (pid < 0) return fail(ErrorCode::kResourceExhausted, "no process for '{}'", command.front());
  return pid;
}

}  // namespace

Result<std::unique_ptr<HostProgram>> HostProgram::start(const core::Path& program,
                                                        const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {program.string(), "--http", "127.0.0.1:0"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(ErrorCode::kResourceExhausted, "no pipe");
  const Result<pid_t> pid = spawn(command, ends[1]);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return tl::unexpected(pid.error());
  }
  std::unique_ptr<HostProgram> made(new HostProgram(*pid, ends[0]));
  COMMENSAL_ASSIGN(const std::string line, made->read_line());
  const auto json = nlohmann::json::parse(line, nullptr, false);
  if (json.is_object()) made->port_ = json.value("http_port", 0);
  if (made->port_ == 0)
    return fail(ErrorCode::kUnavailable, "'{}' names no port, it says: {}", command[0], line);
  return made;
}

HostProgram::~HostProgram() {
  if (pid_ != 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(out_);
}

std::string HostProgram::probe_spec(std::string_view metric) const {
  return fmt::format("prometheus:http://127.0.0.1:{}/metrics#{}", port_, metric);
}

Result<std::string> HostProgram::stop() {
  ::kill(pid_, SIGTERM);
  COMMENSAL_ASSIGN(std::string line, read_line());
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return line;
}

Result<std::string> HostProgram::read_line() {
  std::string line;
  while (line.size() < limits::kHostLineBytesMax) {
    pollfd wait{out_, POLLIN, 0};
    char c = 0;
    if (::poll(&wait, 1, kPatienceMs) <= 0 || ::read(out_, &c, 1) != 1) break;
    if (c == '\n') return line;
    line.push_back(c);
  }
  return fail(ErrorCode::kUnavailable, "the host ended, or said nothing for {} s",
              kPatienceMs / 1000);
}

}  // namespace commensal::lab::bench::collocation
