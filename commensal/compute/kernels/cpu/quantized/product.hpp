// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <span>
#include <vector>

/// Products of 8-bit codes of any size out of the tiles of lanes.hpp. With codes a, b and zero
/// points p, q: sum of (a - p)(b - q) = sum of a b + q (K p - sum of a) - p (sum of b), modulo 2^32
/// exactly; so the tiles multiply codes only, and the rest is CodeFinish.
namespace commensal::kernels::cpu {

/// What turns codes of this type into those of the left matrix, or of the right one.
constexpr std::uint8_t left_flip(tensor::DType type) {
  return type == tensor::DType::kUint8 ? kFlip : 0;
}
constexpr std::uint8_t right_flip(tensor::DType type) {
  return type == tensor::DType::kInt8 ? kFlip : 0;
}
/// The zero points of such codes; absent ones are 0.
std::int32_t left_zero(const Call& call, int codes, int zero, std::int64_t at);
std::int32_t right_zero(const Call& call, int codes, int zero, std::int64_t at);

/// Rows of the left matrix in panels of tile_rows, each of `words` words.
struct LeftLayout {
  const CodeKernels* kernels = nullptr;
  std::int64_t words = 0;

  std::int64_t row_floats() const { return words * kernels->left_parts; }
  std::int64_t panel_floats() const { return row_floats() * kernels->tile_rows; }
  std::int64_t floats(std::int64_t rows) const {
    return (rows + kernels->tile_rows - 1) / kernels->tile_rows * panel_floats();
  }
  /// Rows [0, rows) of one panel, as many as it has at most; row r at from + r * row_step. Writes
  /// the sums of their int8 codes too. `scratch`: panel_floats().
  void pack(CodeRow row, std::int64_t rows, std::int64_t row_step, Isa isa, float* scratch,
            float* panel, std::int32_t* sums) const;
};

/// The numbers that CodeFinish points to, for one left matrix.
struct LeftTerms {
  Few<std::int32_t> terms, zeros;
  bool has_zeros = false;  // one of zeros is not 0

  /// `sums` of the codes of each row; `zero(r)` is row r's zero point; `codes` in a row.
  template <class Zero>
  LeftTerms(std::span<const std::int32_t> sums, std::int64_t codes, const Zero& zero)
      : terms(std::ssize(sums)), zeros(std::ssize(sums)) {
    for (std::int64_t r = 0; r < terms.size(); ++r) {
      const std::int32_t point = zero(r);
      const auto sum = static_cast<std::uint32_t>(sums[static_cast<std::size_t>(r)]);
      terms[r] = static_cast<std::int32_t>(
          static_cast<std::uint64_t>(codes) * static_cast<std::uint32_t>(point) - sum);
      zeros[r] = -point;
      has_zeros |= point != 0;
    }
  }
};

struct CodeProduct {
  const float* a = nullptr;  // panels
  const ColumnSource* b = nullptr;
  /// Of all rows and columns; c, rows and columns are filled in, and the column sums where
  /// row_zeros wants them and they are null.
  CodeFinish finish;
};

struct CodeShape {
  std::int64_t rows = 0, columns = 0;
  LeftLayout left;  // its depth is the product's
};

/// Error: kResourceExhausted.
core::Result<void> multiply_codes(const CodeShape& shape, std::span<const CodeProduct> products,
                                  Workspace& ws);

}  // namespace commensal::kernels::cpu
