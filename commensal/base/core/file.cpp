// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/descriptor.hpp>
#include <commensal/base/core/file.hpp>
#include <commensal/base/core/pages.hpp>
#include <cstring>

namespace commensal::core {
namespace {

tl::unexpected<Error> system_failure(const Path& path, std::string_view what) {
  const int number = errno;
  const ErrorCode code = number == ENOENT   ? ErrorCode::kNotFound
                         : number == EACCES ? ErrorCode::kPermissionDenied
                                            : ErrorCode::kDataLoss;
  return fail(code, "cannot {} '{}': {}", what, path.string(), std::strerror(number));
}

bool is_lost(int error) { return error == EIO || error == ENOSPC || error == EDQUOT; }

/// Sent to the disk in pieces: file systems that keep a journal make who syncs another file wait
/// for what this one has not there yet. One is on its way while the next is written. Where that
/// cannot be told, the sync at the end does all.
Result<void> write_all(int fd, ByteView bytes, const Path& path, bool is_synced) {
  constexpr std::size_t kPieceBytes = 1 << 20;
  constexpr unsigned kAwait =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  off_t at = ::lseek(fd, 0, SEEK_CUR);
  ssize_t before = 0;  // bytes of the piece before this one
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return system_failure(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    bool is_sent = true;
    if (is_synced && !bytes.empty())
      is_sent = ::sync_file_range(fd, at, written, SYNC_FILE_RANGE_WRITE) == 0;
    if (is_sent && is_synced && before > 0)
      is_sent = ::sync_file_range(fd, at - before, before, kAwait) == 0;
    if (!is_sent && is_lost(errno)) return system_failure(path, "write");
    at += written;
    before = written;
  }
  return {};
}

/// Returns what is left for write_all(): all where the file system has no such way.
Result<ByteView> write_past_memory(int fd, ByteView bytes, const Path& path) {
  constexpr std::size_t kPieceBytes = 2 << 20, kBlockBytes = 4096;
  const int flags = ::fcntl(fd, F_GETFL);
  if (bytes.size() < kBlockBytes || ::fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return bytes;
  const Pages piece = allocate_pages(kPieceBytes);  // aligned, as it must be
  while (piece && bytes.size() >= kBlockBytes) {
    const std::size_t size = std::min(bytes.size(), kPieceBytes) / kBlockBytes * kBlockBytes;
    std::memcpy(piece.get(), bytes.data(), size);
    const ssize_t written = ::write(fd, piece.get(), size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL) break;  // the disk has larger blocks
    if (written <= 0) return system_failure(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  ::fcntl(fd, F_SETFL, flags);
  return bytes;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const Path& path,
                                                           std::int64_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return system_failure(path, "open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_failure(path, "stat");
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalidArgument, "'{}' is not a regular file", path.string());
  }
  if (status.st_size > bytes_max) {
    return fail(ErrorCode::kResourceExhausted, "'{}' has {} bytes, at most {} are accepted",
                path.string(), status.st_size, bytes_max);
  }
  auto mapped = of(file, static_cast<std::size_t>(status.st_size));
  if (!mapped) return system_failure(path, "map");
  return mapped;
}

std::shared_ptr<const MappedFile> MappedFile::of(const Descriptor& file, std::size_t size) {
  std::shared_ptr<MappedFile> mapped(new MappedFile);
  if (size == 0) return mapped;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return nullptr;
  mapped->data_ = static_cast<const std::uint8_t*>(data);
  mapped->size_ = size;
  return mapped;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

void MappedFile::forget(ByteView part) const {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  check(part.empty() || (part.data() >= data_ && part.size() <= size_ - (part.data() - data_)),
        "only a part of the file is forgotten");
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t last = (begin + part.size()) / page * page;
  // Advice: where it is not taken, only memory is lost.
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Result<Bytes> read_file(const Path& path, std::int64_t bytes_max) {
  COMMENSAL_ASSIGN(const auto mapped, MappedFile::open(path, bytes_max));
  return Bytes(mapped->bytes().begin(), mapped->bytes().end());
}

namespace {

Result<void> write_and_rename(const Path& path, std::span<const ByteView> parts, unsigned mode,
                              bool is_synced, ReadAgain again = ReadAgain::kSoon) {
  std::string temporary = path.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file.valid()) return system_failure(path, "write");
  Result<void> done;
  for (ByteView part : parts) {
    if (done && again == ReadAgain::kSeldom) {
      done = write_past_memory(file.get(), part, path).map([&](ByteView left) { part = left; });
    }
    if (done) done = write_all(file.get(), part, path, is_synced);
  }
  if (done && (::fchmod(file.get(), mode) != 0 || (is_synced && ::fsync(file.get()) != 0))) {
    done = system_failure(path, "write");
  }
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0)
    done = system_failure(path, "replace");
  if (!done) ::unlink(temporary.c_str());
  return done;
}

}  // namespace

Result<void> replace_file(const Path& path, std::span<const ByteView> parts, unsigned mode) {
  return write_and_rename(path, parts, mode, false);
}

Result<void> write_file_atomically(const Path& path, ByteView bytes, unsigned mode,
                                   ReadAgain again) {
  COMMENSAL_TRY(write_and_rename(path, {&bytes, 1}, mode, true, again));
  const Path folder = path.has_parent_path() ? path.parent_path() : Path(".");
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) != 0) return system_failure(folder, "sync");
  return {};
}

Result<void> save_for_user(const Path& path, ByteView bytes, unsigned mode) {
  struct stat there {};
  if (::stat(path.c_str(), &there) != 0) {
    std::error_code none;
    const Path named = std::filesystem::read_symlink(path, none);  // that is not there yet
    return write_file_atomically(none ? path : path.parent_path() / named, bytes, mode);
  }
  if (S_ISREG(there.st_mode)) {
    std::error_code failed;
    const Path named = std::filesystem::canonical(path, failed);
    return write_file_atomically(failed ? path : named, bytes, there.st_mode & 07777);
  }
  const Descriptor other(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!other.valid()) return system_failure(path, "open");
  return write_all(other.get(), bytes, path, false);
}

}  // namespace commensal::core
