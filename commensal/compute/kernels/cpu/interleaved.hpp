// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::cpu {

/// `parts` rows of `count` elements of 1 or 2 bytes, which lie apart (row p at p * step), and the
/// same elements by columns (element i of row p at i * parts + p). Parts are 2, 3 or 4.
struct Interleaved {
  const std::uint8_t* from = nullptr;
  std::uint8_t* to = nullptr;
  std::int64_t step = 0;  // in elements, of the side whose rows lie apart
  int parts = 2;
  std::int64_t count = 0;
};

struct InterleavedKernels {
  void (*take_apart)(const Interleaved&) = nullptr;    // from columns to rows
  void (*put_together)(const Interleaved&) = nullptr;  // from rows to columns
};

/// For elements of `size` bytes.
const InterleavedKernels& interleaved_kernels_for(Isa isa, std::int64_t size);

}  // namespace commensal::kernels::cpu
