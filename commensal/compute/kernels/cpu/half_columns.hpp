// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>

namespace commensal::kernels::cpu {

/// A constant matrix of 16-bit floats, whose panels stay as they are: widened block by block, they
/// take half the memory, and half the time to be read where few rows meet them.
class HalfColumns final : public ConstantColumns {
 public:
  /// Element (k, j) is at half_bits(from)[k * step + j * column_step].
  HalfColumns(Pulse& pulse, Isa isa, const Tensor& from, std::int64_t depth, std::int64_t columns,
              std::int64_t step, std::int64_t column_step, PackStore* store);
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  int tile_columns_;
  std::int64_t depth_;
  HalfKernels kernels_;
  PackedFloats panels_;  // two halves in one
};

}  // namespace commensal::kernels::cpu
