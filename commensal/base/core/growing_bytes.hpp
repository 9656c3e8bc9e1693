// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/bytes.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <tuple>

namespace commensal::core {

/// Bytes that come piece by piece, hundreds of megabytes perhaps. It grows by realloc(), which
/// moves what is large without a copy, and takes at most twice what has come, of which memory is
/// used as it is written. Throws std::bad_alloc as a vector does. Not thread-safe.
class GrowingBytes {
 public:
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  operator ByteView() const { return {bytes_.get(), size_}; }

  /// Where `count` bytes more may be written; the whole will have `expected`, as far as is known.
  std::span<std::uint8_t> prepare(std::size_t count, std::size_t expected) {
    const std::size_t needed = size_ + count;
    if (needed > capacity_) grow(std::max(needed, std::min(2 * size_, expected)));
    return {bytes_.get() + size_, count};
  }
  /// So many of those have been. Precondition: as many were prepared.
  void commit(std::size_t count) { size_ += count; }
  void clear() { *this = {}; }

 private:
  struct Free {
    void operator()(std::uint8_t* bytes) const { std::free(bytes); }
  };
  void grow(std::size_t capacity) {
    void* const moved = std::realloc(bytes_.get(), capacity);
    if (moved == nullptr) throw std::bad_alloc();
    std::ignore = bytes_.release();
    bytes_.reset(static_cast<std::uint8_t*>(moved));
    capacity_ = capacity;
  }

  std::unique_ptr<std::uint8_t, Free> bytes_;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace commensal::core
