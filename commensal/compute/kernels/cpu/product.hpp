// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/packed_floats.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <span>

/// Matrix products of any size out of the tiles of lanes.hpp: C = A B, every element one chain of
/// fused multiply-adds over the depth, ascending, whatever the split into blocks and threads.
namespace commensal::kernels::cpu {

/// The left matrix in panels of CpuKernels::tile_rows rows; see GemmPanel for the layout.
struct Rows {
  const float* data = nullptr;
  std::int64_t panel_step = 0;
  std::int64_t step = 0;
};

/// Floats that `pack_rows` writes: whole panels.
std::int64_t packed_rows_floats(const CpuKernels& kernels, std::int64_t rows, std::int64_t depth);
/// Element (r, k) is at from[r * row_step + k * step]. Rows up to a whole panel are +0.
Rows pack_rows(const CpuKernels& kernels, const float* from, std::int64_t rows, std::int64_t depth,
               std::int64_t row_step, std::int64_t step, float* to);

/// Part of the right matrix, readable to the end of the last column's vector.
struct Columns {
  const float* data = nullptr;
  std::int64_t step = 0;
};

/// The right matrix, wherever it comes from.
class ColumnSource {
 public:
  virtual ~ColumnSource() = default;
  /// Rows [k, k + depth) of columns [column, column + columns), where `column` is a multiple of
  /// tile_columns. May write them to `scratch` (depth * tile_columns floats, and a vector beyond).
  virtual Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                        float* scratch) const = 0;
};

/// A matrix in memory: element (k, j) is at data[k * step + j * column_step].
class MatrixColumns final : public ColumnSource {
 public:
  /// `readable`: rows may be read to the end of the last column's vector.
  MatrixColumns(const CpuKernels& kernels, const float* data, std::int64_t step,
                std::int64_t column_step, bool readable = false)
      : kernels_(&kernels),
        data_(data),
        step_(step),
        column_step_(column_step),
        readable_(readable) {}
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  const CpuKernels* kernels_;
  const float* data_;
  std::int64_t step_;
  std::int64_t column_step_;
  bool readable_;
};

/// A constant matrix, packed when the model was loaded: panels of tile_columns columns, one after
/// the other, rows of a panel side by side, what is beyond the last column is +0.
class PackedColumns final : public ColumnSource, public Packed {
 public:
  PackedColumns(Pulse& pulse, const CpuKernels& kernels, const float* from, std::int64_t depth,
                std::int64_t columns, std::int64_t step, std::int64_t column_step,
                PackStore* store = nullptr);
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  int tile_columns_;
  std::int64_t depth_;
  PackedFloats panels_;
};

struct Product {
  Rows a;
  const ColumnSource* b = nullptr;
  float* c = nullptr;
  std::int64_t c_step = 0;
  const float* bias = nullptr;  // see GemmPanel
  std::int64_t bias_row_step = 0;
  int bias_column_step = 0;
};

/// What all products of one call share.
struct ProductShape {
  std::int64_t rows = 0;
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  float alpha = 1;
  bool finish = true;  // end the chains: alpha, bias (or +0), canonical NaN
};

/// Computes all products. A depth of 0 leaves the chains at +0. Error: kResourceExhausted.
core::Result<void> multiply(const ProductShape& shape, std::span<const Product> products,
                            Workspace& ws);

/// Both packed: panels of tile_rows rows, and of tile_columns columns, `depth` deep.
struct PackedBlock {
  const float *left = nullptr, *right = nullptr;
  std::int64_t rows = 0, columns = 0, depth = 0;
  bool resume = false;  // the chains go on
  bool finish = true;   // they end here
};
/// Element (r, c) to to[r * to_step + c], in pieces of depth that leave room in the first cache.
void multiply_packed(const CpuKernels& kernels, Pulse& pulse, const PackedBlock& block, float* to,
                     std::int64_t to_step);

}  // namespace commensal::kernels::cpu
