// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/lab/bench/serve/part.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace commensal::lab::bench::serve {
namespace {

using core::ErrorCode;
using core::Result;

constexpr char kFailed = '!';  // before an error, which is said instead

Result<std::pair<core::Descriptor, core::Descriptor>> pipe_of() {
  int ends[2] = {};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return core::fail(ErrorCode::kUnavailable, "no pipe: {}", std::strerror(errno));
  return std::pair(core::Descriptor(ends[0]), core::Descriptor(ends[1]));
}

std::string read_line(const core::Descriptor& from) {
  std::string line;
  char c = 0;
  while (::read(from.get(), &c, 1) == 1 && c != '\n') line += c;
  return line;
}

/// Else the parts that were made before would not see that this process lets go of them.
void close_all_but(int first, int second) {
  std::vector<int> others;
  for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::atoi(one.path().filename().c_str());
    if (number > STDERR_FILENO && number != first && number != second) others.push_back(number);
  }
  for (const int other : others) ::close(other);
}

[[noreturn]] void serve_in_child(const Part::Serve& serve, const Part::Side& side) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto served = serve(side);
  if (!served) side.say(kFailed + served.error().message);
  std::_Exit(served ? 0 : 1);
}

}  // namespace

void Part::Side::say(const std::string& line) const {
  const std::string text = line + "\n";
  (void)!::write(out_.get(), text.data(), text.size());
}

void Part::Side::wait() const { read_line(in_); }

Result<Part> Part::start(const std::string& name, const Serve& serve) {
  COMMENSAL_ASSIGN(auto down, pipe_of());
  COMMENSAL_ASSIGN(auto up, pipe_of());
  const int pid = ::fork();
  if (pid == 0) {
    close_all_but(up.second.get(), down.first.get());
    serve_in_child(serve, Side(std::move(up.second), std::move(down.first)));
  }
  if (pid < 0) return core::fail(ErrorCode::kUnavailable, "no process for the {}", name);
  Part part;
  part.pid_ = pid;
  part.in_ = std::move(down.second);
  part.out_ = std::move(up.first);
  up.second = core::Descriptor();
  part.said_ = read_line(part.out_);
  if (part.said_.empty() || part.said_[0] == kFailed) {
    return core::fail(ErrorCode::kUnavailable, "the {} does not serve: {}", name,
                      part.said_.empty() ? "it has ended" : part.said_.substr(1));
  }
  return part;
}

Part::Part(Part&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      in_(std::move(other.in_)),
      out_(std::move(other.out_)),
      said_(std::move(other.said_)) {}

Part::~Part() {
  if (pid_ < 0) return;
  in_ = core::Descriptor();  // it ends in order
  constexpr int kTries = 500;
  for (int i = 0; i < kTries; ++i) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    ::usleep(10'000);
  }
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::vector<int> Part::processes() const {
  std::vector<int> all = {pid_};
  std::error_code none;
  const core::Path threads = fmt::format("/proc/{}/task", pid_);
  for (const auto& thread : std::filesystem::directory_iterator(threads, none)) {
    std::ifstream children(thread.path() / "children");
    for (int child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

std::int64_t Part::cpu_ns() const {
  std::int64_t all = 0;
  for (const int process : processes()) all += core::child_cpu_ns(process);
  return all;
}

std::int64_t Part::memory_bytes() const {
  std::int64_t all = 0;
  for (const int process : processes()) {
    std::ifstream file(fmt::format("/proc/{}/statm", process));
    std::int64_t size = 0, resident = 0;
    if (file >> size >> resident) all += resident * ::sysconf(_SC_PAGESIZE);
  }
  return all;
}

}  // namespace commensal::lab::bench::serve
