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

/// Below this the heap is better.
inline constexpr std::size_t kPagesBytesMin = std::size_t{1} << 20;

}  // namespace commensal::core
