// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <commensal/base/core/descriptor.hpp>

namespace commensal::core {

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace commensal::core
