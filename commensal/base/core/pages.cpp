// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <commensal/base/core/pages.hpp>
#include <cstdint>

namespace commensal::core {
namespace {

constexpr std::size_t kLarge = std::size_t{2} << 20;

std::byte* map(std::size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  void* made = ::mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<std::byte*>(made);
}

// A large page begins at a multiple of its size, so more is mapped and both ends are cut off.
std::byte* map_for_large_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (bytes + page - 1) / page * page;
  std::byte* const made = map(whole + kLarge);
  if (made == nullptr) return nullptr;
  const std::size_t before = (kLarge - reinterpret_cast<std::uintptr_t>(made) % kLarge) % kLarge;
  if (before > 0) ::munmap(made, before);
  if (before < kLarge) ::munmap(made + before + whole, kLarge - before);
  ::madvise(made + before, whole, MADV_HUGEPAGE);  // advice: small pages do as well
  return made + before;
}

}  // namespace

void FreePages::operator()(std::byte* pages) const { ::munmap(pages, bytes); }

Pages allocate_pages(std::size_t bytes) {
  return {bytes < kLarge ? map(bytes) : map_for_large_pages(bytes), FreePages{bytes}};
}

void prefer_large_pages(void* bytes, std::size_t size) {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes);
  const std::uintptr_t first = (begin + kLarge - 1) / kLarge * kLarge;
  const std::uintptr_t end = (begin + size) / kLarge * kLarge;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

Pages zero_pages(std::size_t bytes) { return {map(bytes, PROT_READ), FreePages{bytes}}; }

}  // namespace commensal::core
