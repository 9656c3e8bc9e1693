// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/file.hpp>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace commensal::worker {

/// A program to be started, and its only argument. By default this one again.
struct Program {
  core::Path path = "/proc/self/exe";
  std::string word;
};

/// A child process; it is ended and buried with this object. Thread-safety: one thread.
class Process {
 public:
  /// `files` become its descriptors 3, 4, ..., and it has no others but /dev/null as
  /// 0 to 2. Of our environment it has only where libraries are and what sanitizers are told.
  /// Error: kUnavailable.
  static core::Result<Process> start(const Program& program, const std::vector<int>& files);
  Process(Process&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), tasks_(std::move(other.tasks_)) {}
  Process& operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    tasks_ = std::move(other.tasks_);
    return *this;
  }
  ~Process();

  pid_t pid() const { return pid_; }
  /// Not ended yet.
  bool is_alive() const;
  /// Of all its threads. Nothing: it has ended.
  std::int64_t cpu_ns() const;
  /// 0: it has ended, or the system does not tell. Takes a microsecond.
  std::int64_t threads() const;
  /// Stops all of its threads, or lets them go on.
  void hold();
  void release();
  /// Ends it if it has not ended, and says in a few words how it did.
  std::string end();

 private:
  explicit Process(pid_t pid);

  pid_t pid_ = 0;
  core::Descriptor tasks_;  // the system's folder of its threads
};

/// The thread that starts processes: they end with the thread that has started them, and inherit
/// its rank. Thread-safety: any thread.
class Starter {
 public:
  /// `ready_thread`, if there is one, is called on the thread first.
  explicit Starter(std::function<void()> ready_thread);
  Starter(const Starter&) = delete;
  Starter& operator=(const Starter&) = delete;
  ~Starter();

  /// Process::start on the thread.
  core::Result<Process> start(const Program& program, const std::vector<int>& files);

 private:
  void run(const std::function<void()>& ready_thread);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // guarded by mutex_
  bool is_over_ = false;        // guarded by mutex_
  std::thread thread_;
};

}  // namespace commensal::worker
