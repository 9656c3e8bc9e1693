// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/limits.hpp>
#include <filesystem>
#include <memory>
#include <span>

namespace commensal::core {

using Path = std::filesystem::path;
class Descriptor;

/// A file mapped read-only; unmapped with the last owner. A file that shrinks while it is mapped
/// raises SIGBUS: callers map only files that they own or have just been given.
class MappedFile {
 public:
  /// Errors: kNotFound, kInvalidArgument (not a regular file), kResourceExhausted (too large).
  static Result<std::shared_ptr<const MappedFile>> open(
      const Path& path, std::int64_t bytes_max = limits::kFileBytesMax);
  /// One that is open, and has this size. Null: the system refuses.
  static std::shared_ptr<const MappedFile> of(const Descriptor& file, std::size_t size);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  ByteView bytes() const { return {data_, size_}; }
  /// Gives the memory of whole pages within `part`, of bytes(), back to the system: they come from
  /// the file again when they are read again. Thread-safety: any thread, beside readers too.
  void forget(ByteView part) const;

 private:
  MappedFile() = default;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Errors as MappedFile::open.
Result<Bytes> read_file(const Path& path, std::int64_t bytes_max = limits::kFileBytesMax);

/// What is read seldom goes past the system's memory for files where it can: filling that takes
/// longer than the disk where a first touch of a page is dear (pages.hpp).
enum class ReadAgain { kSoon, kSeldom };

/// Replaces `path` so that a reader, or a machine that loses power, sees the old or the new file:
/// temporary file, fsync, rename, fsync of the folder. `mode` as in open(2).
Result<void> write_file_atomically(const Path& path, ByteView bytes, unsigned mode = 0644,
                                   ReadAgain again = ReadAgain::kSoon);

/// What a person asked to have there: the same, but a file keeps its mode (a new one gets `mode`),
/// a link leads to what it names, and what is no file (a pipe, a device) is written into.
Result<void> save_for_user(const Path& path, ByteView bytes, unsigned mode = 0644);

/// As write_file_atomically() out of parts, without waiting for the disk: after a loss of power the
/// file may hold anything. For what can be made again.
Result<void> replace_file(const Path& path, std::span<const ByteView> parts, unsigned mode = 0644);

}  // namespace commensal::core
