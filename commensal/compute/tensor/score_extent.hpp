// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace commensal::tensor {

/// How many scores a row of such a tensor has: its last dimension, dimensions of 1 behind it left
/// out where there is not just one label. Below 0: it is open; 0: it is a scalar.
inline std::int64_t score_extent(std::span<const std::int64_t> dims, std::size_t labels) {
  std::size_t rank = dims.size();
  while (labels != 1 && rank > 1 && dims[rank - 1] == 1) --rank;
  return rank == 0 ? 0 : dims[rank - 1];
}

/// Whether rows of such a tensor may have so many labels.
inline bool may_have_labels(std::span<const std::int64_t> dims, std::size_t labels) {
  const std::int64_t extent = score_extent(dims, labels);
  return extent < 0 || (labels > 0 && extent == static_cast<std::int64_t>(labels));
}

}  // namespace commensal::tensor
