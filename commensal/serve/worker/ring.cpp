// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/serve/worker/ring.hpp>
#include <cstring>

namespace commensal::worker {
namespace {

std::size_t place_of(std::uint64_t position) { return position % Ring::kBytes; }

/// Whether that can be: who writes is ahead of who reads, by a ring at most.
bool is_possible(std::uint64_t written, std::uint64_t read) {
  return read <= written && written - read <= Ring::kBytes;
}

}  // namespace

std::size_t RingWriter::room() {
  const std::uint64_t read = ring_.read.load(std::memory_order_acquire);
  is_broken_ |= !is_possible(written_, read);
  return is_broken_ ? 0 : Ring::kBytes - static_cast<std::size_t>(written_ - read);
}

bool RingWriter::has_room() { return room() > 0; }

std::size_t RingWriter::write(core::ByteView bytes) {
  const std::size_t size = std::min(bytes.size(), room());
  if (size == 0) return 0;
  const std::size_t first = std::min(size, Ring::kBytes - place_of(written_));
  std::memcpy(ring_.bytes.data() + place_of(written_), bytes.data(), first);
  std::memcpy(ring_.bytes.data(), bytes.data() + first, size - first);
  written_ += size;
  ring_.written.store(written_, std::memory_order_release);
  return size;
}

std::size_t RingReader::there() {
  const std::uint64_t written = ring_.written.load(std::memory_order_acquire);
  is_broken_ |= !is_possible(written, read_);
  return is_broken_ ? 0 : static_cast<std::size_t>(written - read_);
}

bool RingReader::has_bytes() { return there() > 0; }

std::size_t RingReader::read(std::span<std::uint8_t> bytes) {
  const std::size_t size = std::min(bytes.size(), there());
  if (size == 0) return 0;
  const std::size_t first = std::min(size, Ring::kBytes - place_of(read_));
  std::memcpy(bytes.data(), ring_.bytes.data() + place_of(read_), first);
  std::memcpy(bytes.data() + first, ring_.bytes.data(), size - first);
  read_ += size;
  ring_.read.store(read_, std::memory_order_release);
  return size;
}

}  // namespace commensal::worker
