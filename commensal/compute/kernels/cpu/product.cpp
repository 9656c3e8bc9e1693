// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <cstring>
#include <type_traits>

namespace commensal::kernels::cpu {

namespace {

/// A vector holds as many elements as it holds floats, or half as many.
template <class T>
constexpr int kFloatsIn = static_cast<int>(sizeof(T) / sizeof(float));
template <class T>
int tile_columns(const CpuKernels& kernels) {
  return kernels.tile_columns / kFloatsIn<T>;
}
auto gemm_kernel(const CpuKernels& kernels, float) { return kernels.gemm; }
auto gemm_kernel(const CpuKernels& kernels, double) { return kernels.gemm_doubles; }

/// Steps of depth between two stores of the accumulators: equal blocks of at most 192 steps, whose
/// part of b (192 bytes a step) leaves room for a panel of a in a first-level cache of 48 KiB.
/// Reloading the accumulators costs 1 or 2 % of the tile's time.
std::int64_t depth_block(std::int64_t depth) {
  constexpr std::int64_t kStepsMax = 192;
  return depth == 0 ? 0 : ceil_div(depth, ceil_div(depth, kStepsMax));
}

/// Copies rows [0, depth) of `columns` columns that lie far apart: whole cache lines of each.
template <class T>
void transpose_panel(const CpuKernels& kernels, const T* from, std::int64_t depth, int columns,
                     std::int64_t step, std::int64_t column_step, int tile_columns, T* to) {
  if constexpr (std::is_same_v<T, float>) {
    if (step == 1)
      return kernels.transpose_words({from, column_step, to, tile_columns, columns, depth});
  }
  constexpr std::int64_t kRows = 16;
  for (std::int64_t k = 0; k < depth; k += kRows) {
    const std::int64_t rows = std::min(kRows, depth - k);
    for (int j = 0; j < columns; ++j) {
      const T* column = from + j * column_step + k * step;
      for (std::int64_t r = 0; r < rows; ++r) to[(k + r) * tile_columns + j] = column[r * step];
    }
  }
}

/// Copies one panel's rows [0, depth), `columns` of tile_columns columns; the rest is +0.
template <class T>
void pack_panel(const CpuKernels& kernels, const T* from, std::int64_t depth, int columns,
                std::int64_t step, std::int64_t column_step, int tile_columns, T* to) {
  const bool adjacent = column_step == 1;
  if (!adjacent)
    transpose_panel(kernels, from, depth, columns, step, column_step, tile_columns, to);
  for (std::int64_t k = 0; k < depth; ++k, from += step, to += tile_columns) {
    if (adjacent) std::memcpy(to, from, static_cast<std::size_t>(columns) * sizeof(T));
    std::fill(to + columns, to + tile_columns, T{0});
  }
}

/// One panel of columns of one product, for rows [row, row + rows).
template <class T>
void multiply_panel(const ThreadPool& threads, const CpuKernels& kernels, const ProductShape& shape,
                    const ProductOf<T>& product, std::int64_t column, std::int64_t row,
                    std::int64_t rows, T* scratch) {
  GemmPanelOf<T> g;
  g.rows = rows;
  g.columns =
      static_cast<int>(std::min<std::int64_t>(tile_columns<T>(kernels), shape.columns - column));
  g.a_panel_step = product.a.panel_step;
  g.a_step = product.a.step;
  g.c = product.c + row * product.c_step + column;
  g.c_step = product.c_step;
  g.alpha = shape.alpha;
  if (product.bias != nullptr) {
    g.bias = product.bias + row * product.bias_row_step + column * product.bias_column_step;
    g.bias_row_step = product.bias_row_step;
    g.bias_column_step = product.bias_column_step;
  }
  std::int64_t k = 0;
  do {  // once even for a depth of 0: the bias is still to be added
    g.depth = std::min(depth_block(shape.depth), shape.depth - k);
    const ColumnsOf<T> b = product.b->block(k, g.depth, column, g.columns, scratch);
    g.a = product.a.data + row / kernels.tile_rows * product.a.panel_step + k * product.a.step;
    g.b = b.data;
    g.b_step = b.step;
    g.resume = k > 0;
    k += g.depth;
    g.finish = shape.finish && k == shape.depth;
    gemm_kernel(kernels, T{})(g);
    if (k < shape.depth) threads.yield();
  } while (k < shape.depth);
}

template <class T>
core::Result<void> multiply_all(const ProductShape& shape, std::span<const ProductOf<T>> products,
                                Workspace& ws) {
  if (shape.rows == 0 || shape.columns == 0) return {};
  const CpuKernels& kernels = kernels_for(ws.isa);
  const auto count = static_cast<std::int64_t>(products.size());
  const std::int64_t panels = ceil_div(shape.columns, tile_columns<T>(kernels));
  constexpr std::int64_t kRowsMax = 1 << 13;
  // Few panels are cut by rows too, so that every thread finds work; each cut gathers b again.
  std::int64_t cuts = 1;
  if (const int threads = ws.threads.threads(); threads > 1) {
    cuts = std::clamp<std::int64_t>(2 * threads / std::max<std::int64_t>(count * panels, 1), 1,
                                    ceil_div(shape.rows, 2 * kernels.tile_rows));
  }
  // Nor may one take long, so that the others, and who wants the processor, need not wait.
  cuts = std::max(cuts, ceil_div(shape.rows, kRowsMax));
  const std::int64_t rows_a_cut =
      ceil_div(ceil_div(shape.rows, cuts), kernels.tile_rows) * kernels.tile_rows;
  cuts = ceil_div(shape.rows, rows_a_cut);
  const std::int64_t scratch_floats =
      depth_block(shape.depth) * kernels.tile_columns + kernels.lanes;
  return run_with_scratch(
      ws, count * panels * cuts, scratch_floats, [&](std::int64_t i, float* scratch) {
        const std::int64_t row = i % cuts * rows_a_cut;
        const std::int64_t panel = i / cuts % panels;
        multiply_panel(ws.threads, kernels, shape,
                       products[static_cast<std::size_t>(i / cuts / panels)],
                       panel * tile_columns<T>(kernels), row,
                       std::min(rows_a_cut, shape.rows - row), reinterpret_cast<T*>(scratch));
      });
}

}  // namespace

std::int64_t packed_rows_floats(const CpuKernels& kernels, std::int64_t rows, std::int64_t depth) {
  return ceil_div(rows, kernels.tile_rows) * kernels.tile_rows * depth;
}

template <class T>
RowsOf<T> pack_rows(const CpuKernels& kernels, const T* from, std::int64_t rows, std::int64_t depth,
                    std::int64_t row_step, std::int64_t step, T* to) {
  const std::int64_t height = kernels.tile_rows;
  for (std::int64_t row = 0; row < rows; row += height) {
    T* const panel = to + row * depth;
    if constexpr (std::is_same_v<T, float>) {
      if (step == 1 && row + height <= rows) {
        kernels.transpose_words({from + row * row_step, row_step, panel, height, height, depth});
        continue;
      }
    }
    for (std::int64_t r = 0; r < height; ++r) {
      const T* source = from + (row + r) * row_step;
      const bool beyond = row + r >= rows;
      for (std::int64_t k = 0; k < depth; ++k) {
        panel[k * height + r] = beyond ? T{0} : source[k * step];
      }
    }
  }
  return {to, depth * height, height};
}

template <class T>
ColumnsOf<T> MatrixColumnsOf<T>::block(std::int64_t k, std::int64_t depth, std::int64_t column,
                                       int columns, T* scratch) const {
  const T* from = data_ + k * step_ + column * column_step_;
  const bool whole = readable_ || columns % (kernels_->lanes / kFloatsIn<T>) == 0;
  if (column_step_ == 1 && whole) return {from, step_};
  const int width = tile_columns<T>(*kernels_);
  pack_panel(*kernels_, from, depth, columns, step_, column_step_, width, scratch);
  return {scratch, width};
}

template RowsOf<float> pack_rows(const CpuKernels&, const float*, std::int64_t, std::int64_t,
                                 std::int64_t, std::int64_t, float*);
template RowsOf<double> pack_rows(const CpuKernels&, const double*, std::int64_t, std::int64_t,
                                  std::int64_t, std::int64_t, double*);
template class MatrixColumnsOf<float>;
template class MatrixColumnsOf<double>;

template <class T>
void pack_columns(Pulse& pulse, const CpuKernels& kernels, const T* from, std::int64_t depth,
                  std::int64_t columns, std::int64_t step, std::int64_t column_step, T* to) {
  const int width = kernels.tile_columns;
  for (std::int64_t column = 0; column < columns; column += width) {
    const auto used = static_cast<int>(std::min<std::int64_t>(width, columns - column));
    constexpr std::int64_t kRows = 1 << 10;
    for (std::int64_t k = 0; k < depth; k += kRows) {
      const std::int64_t rows = std::min(kRows, depth - k);
      pack_panel(kernels, from + column * column_step + k * step, rows, used, step, column_step,
                 width, to + column * depth + k * width);
      pulse(rows * width);
    }
  }
}

template void pack_columns(Pulse&, const CpuKernels&, const float*, std::int64_t, std::int64_t,
                           std::int64_t, std::int64_t, float*);
template void pack_columns(Pulse&, const CpuKernels&, const std::uint16_t*, std::int64_t,
                           std::int64_t, std::int64_t, std::int64_t, std::uint16_t*);

PackedColumns::PackedColumns(Pulse& pulse, const CpuKernels& kernels, const float* from,
                             std::int64_t depth, std::int64_t columns, std::int64_t step,
                             std::int64_t column_step, PackStore* store)
    : tile_columns_(kernels.tile_columns),
      depth_(depth),
      panels_(packed_columns_elements(kernels, depth, columns), store, [&](float* to) {
        pack_columns(pulse, kernels, from, depth, columns, step, column_step, to);
      }) {}

PackedColumns::PackedColumns(const CpuKernels& kernels, std::int64_t depth,
                             std::shared_ptr<const float> panels)
    : tile_columns_(kernels.tile_columns), depth_(depth), panels_(std::move(panels)) {}

Columns PackedColumns::block(std::int64_t k, std::int64_t, std::int64_t column, int, float*) const {
  return {panels_.data() + column * depth_ + k * tile_columns_, tile_columns_};
}

core::Result<void> multiply(const ProductShape& shape, std::span<const Product> products,
                            Workspace& ws) {
  return multiply_all(shape, products, ws);
}
core::Result<void> multiply(const ProductShape& shape, std::span<const ProductOf<double>> products,
                            Workspace& ws) {
  return multiply_all(shape, products, ws);
}

void multiply_packed(const CpuKernels& kernels, Pulse& pulse, const PackedBlock& block, float* to,
                     std::int64_t to_step) {
  constexpr std::int64_t kDepthMax = 256;
  for (std::int64_t j = 0; j < block.columns; j += kernels.tile_columns) {
    GemmPanel g;
    g.a_panel_step = block.depth * kernels.tile_rows;
    g.a_step = kernels.tile_rows;
    g.b_step = kernels.tile_columns;
    g.c = to + j;
    g.c_step = to_step;
    g.rows = block.rows;
    g.columns = static_cast<int>(std::min<std::int64_t>(kernels.tile_columns, block.columns - j));
    std::int64_t k = 0;
    do {  // once even for a depth of 0
      g.depth = std::min(kDepthMax, block.depth - k);
      g.a = block.left + k * g.a_step;
      g.b = block.right + j * block.depth + k * g.b_step;
      g.resume = block.resume || k > 0;
      k += g.depth;
      g.finish = block.finish && k == block.depth;
      kernels.gemm(g);
      pulse(block.rows * g.depth);
    } while (k < block.depth);
  }
}

}  // namespace commensal::kernels::cpu
