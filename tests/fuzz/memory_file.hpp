// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <commensal/base/core/file.hpp>
#include <tests/fuzz/fuzz.hpp>

namespace commensal::fuzz {

/// Bytes as a file, for readers that take a path; gone with the object.
class MemoryFile {
 public:
  explicit MemoryFile(core::ByteView bytes) : descriptor_(memfd_create("fuzz", 0)) {
    core::check(descriptor_ >= 0, "the system makes a file in memory");
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      core::check(written > 0, "a file in memory takes all bytes");
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }

  core::Path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace commensal::fuzz
