// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/result.hpp>
#include <cstddef>
#include <span>

namespace commensal::core {

/// Memory without a name that other processes may map too, by its descriptor; zeroed at first. Its
/// size is sealed: nobody who holds the descriptor can take it away from under the others.
/// Thread-safety: as memory.
class SharedMemory {
 public:
  enum class Access { kRead, kReadWrite };

  /// Error: kResourceExhausted.
  static Result<SharedMemory> create(std::size_t bytes);
  /// What another process has made. Errors: kInvalidArgument (not of this size), kPermissionDenied.
  static Result<SharedMemory> map(Descriptor file, std::size_t bytes, Access access);
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::span<std::byte> bytes() const { return {data_, size_}; }
  int descriptor() const { return file_.get(); }
  /// For who may only read. Error: kResourceExhausted.
  Result<Descriptor> for_readers() const;

 private:
  SharedMemory(Descriptor file, std::byte* data, std::size_t size)
      : file_(std::move(file)), data_(data), size_(size) {}

  Descriptor file_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace commensal::core
