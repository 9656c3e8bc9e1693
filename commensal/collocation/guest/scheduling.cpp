// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/collocation/guest/scheduling.hpp>
#include <cstring>

namespace commensal::guest {

core::Result<void> run_when_idle() {
  const sched_param no_priority{};
  if (::sched_setscheduler(0, SCHED_IDLE, &no_priority) == 0) return {};
  return core::fail(core::ErrorCode::kUnavailable, "the system refuses SCHED_IDLE: {}",
                    std::strerror(errno));
}

core::Result<void> step_back_as_session() {
  if (::getsid(0) != ::getpid()) {
    return core::fail(core::ErrorCode::kFailedPrecondition,
                      "this process does not lead its session: others are in it too");
  }
  return write_kernel_file("/proc/self/autogroup", "19");
}

core::Result<void> limit_own_memory(std::int64_t bytes) {
  const rlimit limit{static_cast<rlim_t>(bytes), static_cast<rlim_t>(bytes)};
  if (bytes > 0 && ::setrlimit(RLIMIT_DATA, &limit) == 0) return {};
  return core::fail(core::ErrorCode::kUnavailable, "the system refuses a memory limit of {}: {}",
                    bytes, std::strerror(bytes > 0 ? errno : EINVAL));
}

core::Result<void> die_first() { return write_kernel_file("/proc/self/oom_score_adj", "1000"); }

core::Result<void> write_kernel_file(const core::Path& path, std::string_view text) {
  const auto refused = [&] {
    return core::fail(core::ErrorCode::kUnavailable, "cannot write '{}' to {}: {}", text,
                      path.string(), std::strerror(errno));
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return refused();
  const bool is_written = ::write(file, text.data(), text.size()) == std::ssize(text);
  const auto result = is_written ? core::Result<void>() : refused();
  ::close(file);
  return result;
}

}  // namespace commensal::guest
