// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/arena.hpp>

#include <algorithm>
#include <bit>
#include <commensal/base/core/pages.hpp>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace commensal::tensor {
namespace {

// Size classes are an eighth of an octave apart: at most 12.5 % of a block is lost.
std::size_t size_class(std::size_t bytes) {
  bytes = std::max(bytes, Arena::kAlignment);
  const std::size_t step = std::max(std::bit_floor(bytes) / 8, Arena::kAlignment);
  return (bytes + step - 1) / step * step;
}

// Large blocks are whole pages, so that freeing them gives memory back.
std::byte* new_block(std::size_t size) {
  if (size >= core::kPagesBytesMin) return core::allocate_pages(size).release();
  return static_cast<std::byte*>(std::aligned_alloc(Arena::kAlignment, size));
}

void free_block(std::byte* block, std::size_t size) {
  if (size >= core::kPagesBytesMin) {
    core::FreePages{size}(block);
  } else {
    std::free(block);
  }
}

}  // namespace

struct Arena::State {
  const std::int64_t bytes_max;

  std::mutex mutex;
  // Guarded by mutex.
  std::int64_t in_use = 0;
  std::int64_t kept = 0;  // bytes in `free`
  std::int64_t peak = 0;
  std::map<std::size_t, std::vector<std::byte*>> free;

  explicit State(std::int64_t limit) : bytes_max(limit) {}
  ~State() { drop_free(); }

  void drop_free() {
    for (auto& [size, blocks] : free) {
      for (std::byte* block : blocks) free_block(block, size);
    }
    free.clear();
    kept = 0;
  }

  /// A block of at least `size` bytes, which becomes its size; null if there is none to be had. One
  /// that is several times too large will do: what is used again is still in the caches.
  std::byte* take(std::size_t& size) {
    const std::lock_guard lock(mutex);
    if (static_cast<std::int64_t>(size) > bytes_max - in_use) return nullptr;
    constexpr std::size_t kLargerMax = 4;
    std::byte* block = nullptr;
    auto found = free.lower_bound(size);
    while (found != free.end() && found->second.empty()) ++found;
    if (found != free.end() && found->first <= kLargerMax * size &&
        static_cast<std::int64_t>(found->first) <= bytes_max - in_use) {
      size = found->first;
      block = found->second.back();
      found->second.pop_back();
      kept -= static_cast<std::int64_t>(size);
    } else {
      if (static_cast<std::int64_t>(size) > bytes_max - in_use - kept) drop_free();
      block = new_block(size);
    }
    if (block == nullptr) return nullptr;
    in_use += static_cast<std::int64_t>(size);
    peak = std::max(peak, in_use + kept);
    return block;
  }

  void give_back(std::byte* block, std::size_t size) {
    const std::lock_guard lock(mutex);
    free[size].push_back(block);
    in_use -= static_cast<std::int64_t>(size);
    kept += static_cast<std::int64_t>(size);
  }
};

Arena::Arena(std::int64_t bytes_max) : state_(std::make_shared<State>(bytes_max)) {}

core::Result<std::shared_ptr<std::byte>> Arena::allocate(std::int64_t bytes) {
  std::size_t size = bytes > state_->bytes_max ? 0 : size_class(static_cast<std::size_t>(bytes));
  std::byte* block = size == 0 ? nullptr : state_->take(size);
  if (block == nullptr) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "{} bytes more than the memory limit of {} bytes allows", bytes,
                      state_->bytes_max);
  }
  return std::shared_ptr<std::byte>(
      block, [state = state_, size](std::byte* released) { state->give_back(released, size); });
}

std::int64_t Arena::bytes_in_use() const {
  const std::lock_guard lock(state_->mutex);
  return state_->in_use;
}

std::int64_t Arena::bytes_peak() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak;
}

}  // namespace commensal::tensor
