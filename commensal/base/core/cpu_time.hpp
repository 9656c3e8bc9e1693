// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <thread>

/// Time that processors have spent on this program, in user and system mode; what a benchmark
/// counts so that a second processor hides nothing. Thread-safety: any thread.
namespace commensal::core {

std::int64_t process_cpu_ns();
std::int64_t thread_cpu_ns();  // of the calling thread
/// Of a thread of this process that has not ended.
std::int64_t thread_cpu_ns(std::thread::native_handle_type thread);

/// Of a child of this process; 0 where it has ended.
std::int64_t child_cpu_ns(int pid);

/// Adds the calling thread's processor time from construction to destruction to `sum_ns`.
class CpuMeter {
 public:
  explicit CpuMeter(std::int64_t& sum_ns) : sum_ns_(sum_ns), begin_ns_(thread_cpu_ns()) {}
  CpuMeter(const CpuMeter&) = delete;
  CpuMeter& operator=(const CpuMeter&) = delete;
  ~CpuMeter() { sum_ns_ += thread_cpu_ns() - begin_ns_; }

 private:
  std::int64_t& sum_ns_;
  std::int64_t begin_ns_;
};

}  // namespace commensal::core
