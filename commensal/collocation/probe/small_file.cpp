// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <commensal/collocation/probe/small_file.hpp>

namespace commensal::probe {

using core::ErrorCode;
using core::fail;

core::Result<std::string> read_small_file(const core::Path& path, std::size_t bytes_max) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(ErrorCode::kNotFound, "cannot read '{}'", path.string());
  struct stat about {};
  if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
    (void)close(fd);
    return fail(ErrorCode::kInvalidArgument, "'{}' is no regular file", path.string());
  }
  std::string text(bytes_max + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < text.size()) {
    got = ::read(fd, text.data() + size, text.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
  }
  (void)close(fd);
  if (got < 0) return fail(ErrorCode::kNotFound, "cannot read '{}'", path.string());
  if (size > bytes_max)
    return fail(ErrorCode::kResourceExhausted, "'{}' has more than {} bytes", path.string(),
                bytes_max);
  text.resize(size);
  return text;
}

}  // namespace commensal::probe
