// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include <commensal/lab/overhead/cpu_time.hpp>

namespace commensal::lab {
namespace {

std::int64_t read(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

std::int64_t process_cpu_ns() { return read(CLOCK_PROCESS_CPUTIME_ID); }
std::int64_t thread_cpu_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace commensal::lab
