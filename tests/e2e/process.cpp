// SPDX-License-Identifier: Apache-2.0
#include <tests/e2e/process.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/cpu_time.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/spawn.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace commensal::e2e {

Process::Process(const std::vector<std::string>& arguments, const std::string& log,
                 const std::string& program) {
  std::array<int, 2> ends{};
  core::check(::pipe2(ends.data(), O_CLOEXEC) == 0, "a pipe is made");
  output_ = ends[0];
  const core::Descriptor out(ends[1]);
  const core::Descriptor errors(
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  core::Spawn what{
      .command = {program.empty() ? COMMENSAL_PROGRAM : program},
      .files = {STDIN_FILENO, out.get(), errors.valid() ? errors.get() : STDERR_FILENO}};
  what.command.insert(what.command.end(), arguments.begin(), arguments.end());
  const auto pid = core::spawn(what);
  core::check(pid.has_value(), "a process is made");
  pid_ = *pid;
}

Process::~Process() {
  kill();
  ::close(output_);
}

std::string Process::read_line() {
  std::string line;
  for (char c = 0; ::read(output_, &c, 1) == 1 && c != '\n';) line.push_back(c);
  return line;
}

std::string Process::read_all(int& status) {
  std::string text;
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::read(output_, block.data(), block.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(block.data(), static_cast<std::size_t>(got));
  }
  status = wait();
  return text;
}

void Process::signal(int number) const {
  if (pid_ > 0) ::kill(pid_, number);
}

void Process::kill() {
  signal(SIGKILL);
  wait();
}

int Process::wait() {
  if (pid_ < 0) return 0;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string run(const std::vector<std::string>& arguments, int& status,
                const std::string& program) {
  Process process(arguments, "/dev/null", program);
  return process.read_all(status);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {  // proc(5)
    if (!std::isdigit(static_cast<unsigned char>(entry.path().filename().c_str()[0]))) continue;
    std::ifstream file(entry.path() / "stat");
    std::string all;
    std::getline(file, all, '\0');  // a buffer's iterators throw where it has ended meanwhile
    const std::size_t end = all.rfind(')');
    char state = 0;
    int its_parent = 0;
    if (end != std::string::npos &&
        std::sscanf(all.c_str() + end + 2, "%c %d", &state, &its_parent) == 2 && state != 'Z' &&
        its_parent == parent) {
      found.push_back(std::stoi(entry.path().filename()));
    }
  }
  return found;
}

double processor_s_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string all;
  std::getline(file, all, '\0');
  const std::size_t end = all.rfind(')');
  if (end == std::string::npos) return 0;
  std::istringstream fields(all.substr(end + 2));
  constexpr int kBefore = 13;  // state to stime: proc(5)
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) fields >> skipped;
  double children_user = 0, children_system = 0;
  fields >> children_user >> children_system;
  double sum = (children_user + children_system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  // In ticks of 10 ms, what a small network takes could not be told.
  sum += 1e-9 * static_cast<double>(core::child_cpu_ns(process));
  for (const pid_t child : children_of(process)) sum += processor_s_of(child);
  return sum;
}

bool is_gone(pid_t process) {
  for (int tries = 0; tries < 400; ++tries) {
    if (::kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
  return false;
}

Folder::Folder() : made_(core::TemporaryFolder::make("commensal-e2e").value()) {}

OwnMachine::OwnMachine() {
  ::setenv("XDG_RUNTIME_DIR", folder_.at("run").c_str(), 1);
  ::setenv("XDG_STATE_HOME", folder_.at("state").c_str(), 1);
}

OwnMachine::~OwnMachine() {
  ::unsetenv("XDG_RUNTIME_DIR");
  ::unsetenv("XDG_STATE_HOME");
}

}  // namespace commensal::e2e
