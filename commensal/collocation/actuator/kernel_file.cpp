// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/collocation/actuator/kernel_file.hpp>
#include <cstring>

namespace commensal::actuator {

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

}  // namespace commensal::actuator
