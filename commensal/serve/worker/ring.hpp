// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <commensal/base/core/bytes.hpp>
#include <cstddef>
#include <cstdint>
#include <span>

/// Work in a process of its own: what a model makes a program do, it does to that process alone.
namespace commensal::worker {

/// A ring of bytes in memory that two processes share, one of which writes and one reads. Neither
/// trusts the other: each side knows its own place, and takes from the other only how far that one
/// is, which must lie within the ring. All zero at first.
struct Ring {
  static constexpr std::size_t kBytes = std::size_t{1} << 20;

  alignas(64) std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint32_t> writer_sleeps{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  std::atomic<std::uint32_t> reader_sleeps{0};
  alignas(64) std::array<std::uint8_t, kBytes> bytes;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Thread-safety: one thread.
class RingWriter {
 public:
  explicit RingWriter(Ring& ring) : ring_(ring) {}
  /// How much of `bytes` found room. Never waits.
  std::size_t write(core::ByteView bytes);
  bool has_room();
  /// The other side has said something impossible: nothing is written any more.
  bool is_broken() const { return is_broken_; }
  std::atomic<std::uint32_t>& sleeps() const { return ring_.writer_sleeps; }
  std::atomic<std::uint32_t>& other_sleeps() const { return ring_.reader_sleeps; }

 private:
  std::size_t room();

  Ring& ring_;
  std::uint64_t written_ = 0;
  bool is_broken_ = false;
};

/// Thread-safety: one thread.
class RingReader {
 public:
  explicit RingReader(Ring& ring) : ring_(ring) {}
  /// How much of `bytes` was there. Never waits.
  std::size_t read(std::span<std::uint8_t> bytes);
  bool has_bytes();
  bool is_broken() const { return is_broken_; }
  std::atomic<std::uint32_t>& sleeps() const { return ring_.reader_sleeps; }
  std::atomic<std::uint32_t>& other_sleeps() const { return ring_.writer_sleeps; }

 private:
  std::size_t there();

  Ring& ring_;
  std::uint64_t read_ = 0;
  bool is_broken_ = false;
};

}  // namespace commensal::worker
