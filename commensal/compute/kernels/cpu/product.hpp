// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/packed_floats.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <span>
#include <vector>

/// Matrix products of any size out of the tiles of lanes.hpp: C = A B, every element one chain of
/// fused multiply-adds over the depth, ascending, whatever the split into blocks and threads. T is
/// float, or double: a vector then holds half as many, and a panel has half as many columns.
namespace commensal::kernels::cpu {

/// The left matrix in panels of CpuKernels::tile_rows rows; see GemmPanelOf for the layout.
template <class T>
struct RowsOf {
  const T* data = nullptr;
  std::int64_t panel_step = 0;
  std::int64_t step = 0;
};
using Rows = RowsOf<float>;

/// Elements that `pack_rows` writes: whole panels.
std::int64_t packed_rows_floats(const CpuKernels& kernels, std::int64_t rows, std::int64_t depth);
/// Element (r, k) is at from[r * row_step + k * step]. Rows up to a whole panel are +0.
template <class T>
RowsOf<T> pack_rows(const CpuKernels& kernels, const T* from, std::int64_t rows, std::int64_t depth,
                    std::int64_t row_step, std::int64_t step, T* to);

/// Part of the right matrix, readable to the end of the last column's vector.
template <class T>
struct ColumnsOf {
  const T* data = nullptr;
  std::int64_t step = 0;
};
using Columns = ColumnsOf<float>;

/// The right matrix, wherever it comes from.
template <class T>
class ColumnSourceOf {
 public:
  virtual ~ColumnSourceOf() = default;
  /// Rows [k, k + depth) of columns [column, column + columns), where `column` is a multiple of
  /// tile_columns. May write them to `scratch` (depth * tile_columns floats, and a vector beyond).
  virtual ColumnsOf<T> block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                             T* scratch) const = 0;
};
using ColumnSource = ColumnSourceOf<float>;

/// A matrix in memory: element (k, j) is at data[k * step + j * column_step].
template <class T>
class MatrixColumnsOf final : public ColumnSourceOf<T> {
 public:
  /// `readable`: rows may be read to the end of the last column's vector.
  MatrixColumnsOf(const CpuKernels& kernels, const T* data, std::int64_t step,
                  std::int64_t column_step, bool readable = false)
      : kernels_(&kernels),
        data_(data),
        step_(step),
        column_step_(column_step),
        readable_(readable) {}
  ColumnsOf<T> block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                     T* scratch) const override;

 private:
  const CpuKernels* kernels_;
  const T* data_;
  std::int64_t step_;
  std::int64_t column_step_;
  bool readable_;
};
using MatrixColumns = MatrixColumnsOf<float>;

/// Panels of tile_columns columns, one after the other, rows of a panel side by side, what is
/// beyond the last column is 0. Element (k, j) is at from[k * step + j * column_step].
template <class T>
void pack_columns(Pulse& pulse, const CpuKernels& kernels, const T* from, std::int64_t depth,
                  std::int64_t columns, std::int64_t step, std::int64_t column_step, T* to);
/// Elements that `pack_columns` writes: whole panels.
inline std::int64_t packed_columns_elements(const CpuKernels& kernels, std::int64_t depth,
                                            std::int64_t columns) {
  return ceil_div(columns, kernels.tile_columns) * kernels.tile_columns * depth;
}

/// A constant matrix, packed when the model was loaded.
class ConstantColumns : public ColumnSource, public Packed {};

/// One whose panels are of binary32.
class PackedColumns final : public ConstantColumns {
 public:
  PackedColumns(Pulse& pulse, const CpuKernels& kernels, const float* from, std::int64_t depth,
                std::int64_t columns, std::int64_t step, std::int64_t column_step,
                PackStore* store = nullptr);
  /// Out of what pack_columns wrote to `panels`.
  PackedColumns(const CpuKernels& kernels, std::int64_t depth, std::shared_ptr<const float> panels);
  Columns block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                float* scratch) const override;

 private:
  int tile_columns_;
  std::int64_t depth_;
  PackedFloats panels_;
};

template <class T>
struct ProductOf {
  RowsOf<T> a;
  const ColumnSourceOf<T>* b = nullptr;
  T* c = nullptr;
  std::int64_t c_step = 0;
  const T* bias = nullptr;  // see GemmPanelOf
  std::int64_t bias_row_step = 0;
  int bias_column_step = 0;
};
using Product = ProductOf<float>;

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
core::Result<void> multiply(const ProductShape& shape, std::span<const ProductOf<double>> products,
                            Workspace& ws);

/// Computes `count` products whose right matrices are make(i), a ColumnSource: product(i, source)
/// says the rest. Error: kResourceExhausted.
template <class Make, class Of>
core::Result<void> multiply_each(const ProductShape& shape, std::int64_t count, const Make& make,
                                 const Of& product, Workspace& ws) {
  if (count == 1) {  // nothing is allocated
    const auto source = make(0);
    const Product one = product(0, source);
    return multiply(shape, std::span(&one, 1), ws);
  }
  std::vector<decltype(make(0))> sources;
  std::vector<Product> products;
  sources.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    sources.push_back(make(i));
    products.push_back(product(i, sources.back()));
  }
  return multiply(shape, products, ws);
}

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
