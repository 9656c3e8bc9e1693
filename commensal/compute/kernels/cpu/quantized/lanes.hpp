// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>
#include <span>

/// 8-bit codes once per instruction set, as plain functions over plain memory; all give the same
/// bits. Thread-safety: pure functions of their arguments.
///
/// Four codes that follow each other along the depth of a product are a word. Words travel as
/// floats whose bits nobody looks at, so that what moves matrices (ColumnSource, TapLayout, ...)
/// moves them too. The left matrix of a product has int8 codes, the right one uint8: a code of the
/// other kind is turned into its neighbour by flipping its highest bit, its zero point likewise.
/// What is beyond the depth is 0 on both sides.
namespace commensal::kernels::cpu {

inline constexpr std::int64_t kCodesInWord = 4;
inline constexpr std::uint8_t kFlip = 0x80;  // between uint8 and int8

constexpr std::int64_t words_of(std::int64_t codes) {
  return (codes + kCodesInWord - 1) / kCodesInWord;
}

/// A product of `rows` x `depth` by `depth` x `columns` in int32, wrapping, for at most
/// `tile_columns` columns; depth counts words. All vectors are whole.
struct CodePanel {
  const float* a = nullptr;  // part p of word (r, k) is at
  std::int64_t a_panel_step =
      0;                     // a[(r / R) * a_panel_step + (k * left_parts + p) * a_step + r % R],
  std::int64_t a_step = 0;   // where R is tile_rows
  const float* b = nullptr;  // word (k, j) at b[k * b_step + j]
  std::int64_t b_step = 0;
  std::int32_t* c = nullptr;  // element (r, j) at c[r * tile_columns + j]
  std::int64_t rows = 0, depth = 0;
  int columns = 0;
  bool resume = false;  // the sums go on from c instead of 0
};

/// One row of the left matrix into its words, part by part; what fills the last word is 0.
struct CodeRow {
  const std::uint8_t* from = nullptr;
  std::int64_t count = 0;
  std::uint8_t flip = 0;  // 0, or kFlip of codes that are uint8
  float* to = nullptr;    // words_of(count) * left_parts
};

/// Rows of codes into words of four rows: word (g, j) has rows 4 g, 4 g + 1, ... of column j.
struct CodeRows {
  const std::uint8_t* from = nullptr;  // row r at from + r * row_step
  std::int64_t row_step = 0;
  std::int64_t rows = 0, columns = 0;
  std::uint8_t flip = 0;  // 0, or kFlip of codes that are int8
  float* to = nullptr;    // word (g, j) at to[g * to_step + j]
  std::int64_t to_step = 0;
};

/// What is made of the sums of a panel. Sum (r, j) gets, wrapping,
///   row_terms[r] * column_zeros[j] + row_zeros[r] * column_sums[j] + bias[r]
/// and is stored as int32, or times its factor as a code (docs/numerics.md).
struct CodeFinish {
  const std::int32_t* c = nullptr;  // element (r, j) at c[r * c_step + j], in whole vectors
  std::int64_t c_step = 0;
  std::int64_t rows = 0;
  int columns = 0;
  const std::int32_t* row_terms = nullptr;
  const std::int32_t* column_zeros = nullptr;
  int column_zeros_step = 0;                   // 0 or 1
  const std::int32_t* row_zeros = nullptr;     // null: all 0
  const std::int32_t* column_sums = nullptr;   // with row_zeros; whole vectors
  const std::int32_t* bias = nullptr;          // null: none
  tensor::DType type = tensor::DType::kInt32;  // or uint8 or int8, which have
  const float* factors = nullptr;  // element (r, j) at factors[r * row step + j * column step]
  std::int64_t factors_row_step = 0;
  int factors_column_step = 0;          // 0 or 1
  const std::int32_t* zeros = nullptr;  // of the output, at zeros[r * zeros_step]
  std::int64_t zeros_step = 0;
  void* to = nullptr;  // element (r, j) at to[r * to_step + j]
  std::int64_t to_step = 0;
};

/// A row of QuantizeLinear or DequantizeLinear; steps are 0 or 1.
struct LinearRow {
  std::int64_t count = 0;
  const float* scales = nullptr;
  int scales_step = 0;
  const std::int32_t* zeros = nullptr;
  int zeros_step = 0;
  tensor::DType codes = tensor::DType::kUint8;  // uint8, int8 or (to be dequantised) int32
};

struct Extremes {
  float low = 0, high = 0;  // of all elements and 0; NaN if any is; zeros may have either sign
};

struct CodeKernels {
  std::string_view name;
  int lanes = 0, tile_rows = 0, tile_columns = 0;  // as CpuKernels'
  int left_parts = 0;                              // floats for a word of the left matrix
  void (*product)(const CodePanel&) = nullptr;
  /// Returns the sum of the row's int8 codes.
  std::int32_t (*left_row)(const CodeRow&) = nullptr;
  void (*right_rows)(const CodeRows&) = nullptr;
  /// Planes are words of the right matrix, weights those of the left one, part by part; `out` gets
  /// the sums, as int32, and bias is left out.
  void (*taps)(const TapPlane&) = nullptr;
  void (*finish)(const CodeFinish&) = nullptr;
  void (*quantise)(const LinearRow&, const float* from, std::uint8_t* to) = nullptr;
  void (*dequantise)(const LinearRow&, const void* from, float* to) = nullptr;
  Extremes (*extremes)(const float* from, std::int64_t count) = nullptr;
};

/// The best of that set: AVX-512 has two, of which one needs VNNI.
const CodeKernels& code_kernels_for(Isa isa);
/// All that this machine can run.
std::span<const CodeKernels* const> available_code_kernels();

}  // namespace commensal::kernels::cpu
