// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

namespace commensal::core {

/// Gives pages back to the system, which the heap does not always do.
struct FreePages {
  std::size_t bytes = 0;
  void operator()(std::byte* pages) const;
};
using Pages = std::unique_ptr<std::byte, FreePages>;

/// Memory straight from the system: zeroed, page-aligned, in large pages where it has them to give
/// (for 2 MiB and more: they are faster to come by, and to read). Null if there is none.
/// Thread-safety: any thread.
Pages allocate_pages(std::size_t bytes);

/// Zeros, only to be read: they take room for addresses, but no memory. Null if there is none.
/// Thread-safety: any thread.
Pages zero_pages(std::size_t bytes);

/// Of memory on the heap that is about to be written for the first time: what of it can be had in
/// large pages is. Where a first touch of a small page is dear, as on virtual machines, that is
/// most of what 10 MB cost. Not for what grows by realloc(): it could not be moved without a copy
/// any more. Nothing where there are no 2 MiB. Thread-safety: any thread.
void prefer_large_pages(void* bytes, std::size_t size);

/// Below this the heap is better.
inline constexpr std::size_t kPagesBytesMin = std::size_t{1} << 20;

}  // namespace commensal::core
