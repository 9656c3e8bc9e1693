// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <time.h>

#include <commensal/base/core/cpu_time.hpp>

namespace commensal::core {
namespace {

// Exact to now: getrusage tells a thread's time only as of the last tick.
std::int64_t read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t process_cpu_ns() { return read(CLOCK_PROCESS_CPUTIME_ID); }
std::int64_t thread_cpu_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t thread_cpu_ns(std::thread::native_handle_type thread) {
  clockid_t clock{};
  return ::pthread_getcpuclockid(thread, &clock) == 0 ? read(clock) : 0;
}

std::int64_t child_cpu_ns(int pid) {
  clockid_t clock{};
  return ::clock_getcpuclockid(pid, &clock) == 0 ? read(clock) : 0;
}

}  // namespace commensal::core
