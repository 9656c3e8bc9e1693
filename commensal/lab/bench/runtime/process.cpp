// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/limits_programs.hpp>
#include <commensal/base/core/spawn.hpp>
#include <commensal/lab/bench/runtime/channel.hpp>
#include <filesystem>
#include <fstream>

namespace commensal::lab::bench {

using core::ErrorCode;
using core::fail;
using core::Result;

namespace {

constexpr int kSilenceSecondsMax = 600;

/// One socket is the child's input and output: a write to a child that is gone is an error then,
/// not a signal.
class ChildProcess final : public Channel {
 public:
  ChildProcess(pid_t pid, core::Descriptor socket, std::string name)
      : pid_(pid), socket_(std::move(socket)), name_(std::move(name)) {}
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() override {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  Result<std::string> ask(const std::string& line) override {
    std::string rest = line + '\n';
    while (!rest.empty()) {
      const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return gone();
      rest.erase(0, static_cast<std::size_t>(sent));
    }
    return answer();
  }

  Result<std::int64_t> peak_bytes() const override {
    std::ifstream status(fmt::format("/proc/{}/status", pid_));
    for (std::string word; status >> word;) {
      std::int64_t kilobytes = 0;
      if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
    }
    return fail(ErrorCode::kUnavailable, "'{}' has no peak of memory", name_);
  }

  void keep_to_one_cpu(int turn) override {
    cpu_set_t all;
    if (::sched_getaffinity(0, sizeof all, &all) != 0) return;
    int skip = turn % CPU_COUNT(&all), cpu = 0;
    while (!CPU_ISSET(cpu, &all) || skip-- > 0) ++cpu;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    std::error_code none;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid_), none)) {
      ::sched_setaffinity(std::stoi(task.path().filename().string()), sizeof one, &one);
    }
  }

 private:
  Result<std::string> answer() {
    std::array<char, 4096> block{};
    std::string line;
    while (!line.ends_with('\n')) {
      const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0 || line.size() > limits::kBenchAnswerBytesMax) return gone();
      line.append(block.data(), static_cast<std::size_t>(got));
    }
    line.pop_back();
    return line;
  }

  tl::unexpected<core::Error> gone() const {
    return fail(ErrorCode::kUnavailable, "'{}' ended or fell silent instead of answering", name_);
  }

  pid_t pid_;
  core::Descriptor socket_;
  std::string name_;
};

}  // namespace

Result<std::unique_ptr<Channel>> start_process(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(ErrorCode::kResourceExhausted, "no socket for '{}'", command.front());
  }
  core::Descriptor mine(ends[0]);
  const core::Descriptor its(ends[1]);
  const timeval patience{kSilenceSecondsMax, 0};
  ::setsockopt(mine.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  COMMENSAL_ASSIGN(const pid_t pid, core::spawn({.command = command,
                                                 .files = {its.get(), its.get(), STDERR_FILENO}}));
  return std::make_unique<ChildProcess>(pid, std::move(mine), command.front());
}

}  // namespace commensal::lab::bench
