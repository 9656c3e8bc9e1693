// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <commensal/base/core/temporary_folder.hpp>
#include <string>
#include <vector>

namespace commensal::e2e {

/// A child process whose standard output is read by the line; killed (SIGKILL) with the object.
class Process {
 public:
  /// The program under test, or another one, with these arguments. `log` takes its standard error.
  Process(const std::vector<std::string>& arguments, const std::string& log,
          const std::string& program = "");
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  /// Blocks; "" when the output ends.
  std::string read_line();
  /// Everything until the output ends, then the exit status.
  std::string read_all(int& status);
  void signal(int number) const;
  pid_t pid() const { return pid_; }
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// Waits for the end. Exit status, or 128 plus the signal.
  int wait();

 private:
  pid_t pid_ = -1;
  int output_ = -1;
};

/// Runs the program under test, or another one, to its end; returns its standard output.
std::string run(const std::vector<std::string>& arguments, int& status,
                const std::string& program = "");

/// What `parent` has started and has not ended.
std::vector<pid_t> children_of(pid_t parent);
/// Seconds of processors that it has taken, with all that it has started, ended or not.
double processor_s_of(pid_t process);
/// Whether it ends, for as long as a busy machine may take.
bool is_gone(pid_t process);

/// A folder of this test's own, removed with the object.
class Folder {
 public:
  Folder();
  std::string at(const std::string& name) const { return (made_.path() / name).string(); }

 private:
  core::TemporaryFolder made_;
};

/// Governors and their books of this test's own, whoever else runs on this machine.
class OwnMachine {
 public:
  OwnMachine();
  ~OwnMachine();
  OwnMachine(const OwnMachine&) = delete;
  OwnMachine& operator=(const OwnMachine&) = delete;

 private:
  Folder folder_;
};

}  // namespace commensal::e2e
