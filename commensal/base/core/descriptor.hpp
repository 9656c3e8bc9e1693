// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <utility>

namespace commensal::core {

/// Owns a file descriptor of the system. Thread-safety: none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();

  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  /// It is the caller's from now on.
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

/// As many open files and connections as the system lets this user have, for this process: returns
/// how many. Thread-safety: any thread.
std::uint64_t raise_file_limit();

}  // namespace commensal::core
