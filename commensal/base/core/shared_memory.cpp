// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <commensal/base/core/shared_memory.hpp>
#include <cstring>

namespace commensal::core {

Result<SharedMemory> SharedMemory::create(std::size_t bytes) {
  constexpr int kSeals = F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  Descriptor file(::memfd_create("commensal", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return fail(ErrorCode::kResourceExhausted, "the system refuses {} bytes of shared memory: {}",
                bytes, std::strerror(errno));
  }
  return map(std::move(file), bytes, Access::kReadWrite);
}

Result<SharedMemory> SharedMemory::map(Descriptor file, std::size_t bytes, Access access) {
  if (::lseek(file.get(), 0, SEEK_END) != static_cast<off_t>(bytes)) {
    return fail(ErrorCode::kInvalidArgument, "this is no shared memory of {} bytes", bytes);
  }
  const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const data = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) {
    return fail(ErrorCode::kPermissionDenied, "cannot map shared memory: {}", std::strerror(errno));
  }
  return SharedMemory(std::move(file), static_cast<std::byte*>(data), bytes);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<Descriptor> SharedMemory::for_readers() const {
  const std::string path = fmt::format("/proc/self/fd/{}", file_.get());
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.valid()) return file;
  return fail(ErrorCode::kResourceExhausted, "cannot open shared memory for reading: {}",
              std::strerror(errno));
}

}  // namespace commensal::core
