// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <commensal/base/core/descriptor.hpp>
#include <limits>
#include <utility>

namespace commensal::core {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

std::uint64_t raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return std::numeric_limits<std::uint64_t>::max();
  const rlim_t before = std::exchange(files.rlim_cur, files.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : before;
}

}  // namespace commensal::core
