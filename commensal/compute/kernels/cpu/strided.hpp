// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>
#include <vector>

namespace commensal::kernels::cpu {

/// Elements of a tensor in another order: element `at` of `dims` is the input's element
/// from + sum of at[d] * strides[d], and the output's to + sum of at[d] * out_strides[d]; without
/// `out_strides` it is row-major in the output. Strides of the input may be 0 or negative.
struct StridedCopy {
  std::vector<std::int64_t> dims, strides;
  std::int64_t from = 0;
  std::vector<std::int64_t> out_strides = {};
  std::int64_t to = 0;
};

/// Copies elements of `size` bytes (1, 2, 4 or 8), on the pool's threads: long runs as they lie,
/// matrices in blocks.
void copy_strided(const StridedCopy& copy, std::int64_t size, const std::uint8_t* from,
                  std::uint8_t* to, Workspace& ws);

}  // namespace commensal::kernels::cpu
