// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <unistd.h>

#include <commensal/base/core/descriptor.hpp>

namespace commensal::core {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

void raise_file_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace commensal::core
