// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/quantized/product.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>

namespace commensal::kernels::cpu {

namespace {

/// Words of depth between two stores of the sums, as in cpu/product.cpp: what a tile reads of both
/// matrices stays in a first-level cache of 48 KiB.
std::int64_t depth_block(std::int64_t words) {
  constexpr std::int64_t kWordsMax = 192;
  if (words <= kWordsMax) return words;
  return ceil_div(words, ceil_div(words, kWordsMax));
}

/// Rows whose sums (192 bytes each) stay in the second-level cache until they are finished.
constexpr std::int64_t kRowsMax = 512;

/// One panel of columns of one product, for rows [row, row + rows).
struct PanelTask {
  const CodeShape& shape;
  const CodeProduct& product;
  std::int64_t row, rows, column;
  int columns;

  static std::int64_t scratch_floats(const CodeShape& shape, std::int64_t rows) {
    const CodeKernels& kernels = *shape.left.kernels;
    return (depth_block(shape.left.words) + rows + 1) * kernels.tile_columns + kernels.lanes;
  }

  void run(float* scratch) const {
    const CodeKernels& kernels = *shape.left.kernels;
    auto* const c = reinterpret_cast<std::int32_t*>(scratch);
    auto* const sums = c + rows * kernels.tile_columns;
    float* const block = scratch + (rows + 1) * kernels.tile_columns;
    const bool wants_sums =
        product.finish.row_zeros != nullptr && product.finish.column_sums == nullptr;
    CodePanel g{.a_panel_step = shape.left.panel_floats(), .rows = rows, .columns = columns};
    for (std::int64_t k = 0; k < shape.left.words; k += g.depth, g.resume = true) {
      g.depth = std::min(depth_block(shape.left.words), shape.left.words - k);
      const Columns b = product.b->block(k, g.depth, column, columns, block);
      g.b = b.data;
      g.b_step = b.step;
      g.a_step = kernels.tile_rows;
      g.a = product.a + row / kernels.tile_rows * g.a_panel_step +
            k * kernels.left_parts * kernels.tile_rows;
      g.c = c;
      kernels.product(g);
      if (wants_sums) add_sums(g, sums);
    }
    finish(c, wants_sums ? sums : nullptr);
  }

  /// The sums of columns are the product with a row of ones.
  void add_sums(CodePanel g, std::int32_t* sums) const {
    const std::uint8_t one[kCodesInWord] = {1, 1, 1, 1}, half[kCodesInWord] = {1, 0, 1, 0};
    float word;
    std::memcpy(&word, shape.left.kernels->left_parts == 1 ? one : half, sizeof(word));
    g.a = &word;
    g.a_step = 0;
    g.rows = 1;
    g.c = sums;
    shape.left.kernels->product(g);
  }

  void finish(const std::int32_t* c, const std::int32_t* sums) const {
    CodeFinish f = product.finish;
    f.c = c;
    f.c_step = shape.left.kernels->tile_columns;
    f.rows = rows;
    f.columns = columns;
    f.row_terms += row;
    f.column_zeros += f.column_zeros_step * column;
    if (f.row_zeros != nullptr) f.row_zeros += row;
    f.column_sums = sums != nullptr || f.column_sums == nullptr ? sums : f.column_sums + column;
    if (f.bias != nullptr) f.bias += row;
    if (f.factors != nullptr) {
      f.factors += row * f.factors_row_step + column * f.factors_column_step;
    }
    if (f.zeros != nullptr) f.zeros += row * f.zeros_step;
    const std::int64_t size = tensor::traits(f.type).size;
    f.to = static_cast<std::uint8_t*>(f.to) + (row * f.to_step + column) * size;
    shape.left.kernels->finish(f);
  }
};

/// In how many rows a task works: all, but for kRowsMax and so that every thread finds work.
std::int64_t rows_of_task(const CodeShape& shape, std::int64_t panels, int threads) {
  const std::int64_t height = shape.left.kernels->tile_rows;
  std::int64_t cuts = ceil_div(shape.rows, kRowsMax);
  if (threads > 1) {
    cuts = std::max(
        cuts, std::clamp<std::int64_t>(2 * threads / panels, 1, ceil_div(shape.rows, 2 * height)));
  }
  return ceil_div(ceil_div(shape.rows, cuts), height) * height;
}

}  // namespace

std::int32_t left_zero(const Call& call, int codes, int zero, std::int64_t at) {
  const auto value = static_cast<std::int32_t>(ref::code_at(call, zero, at));
  return left_flip(call.in(codes).dtype()) != 0 ? value - kFlip : value;
}

std::int32_t right_zero(const Call& call, int codes, int zero, std::int64_t at) {
  const auto value = static_cast<std::int32_t>(ref::code_at(call, zero, at));
  return right_flip(call.in(codes).dtype()) != 0 ? value + kFlip : value;
}

void LeftLayout::pack(CodeRow row, std::int64_t rows, std::int64_t row_step, Isa isa,
                      float* scratch, float* panel, std::int32_t* sums) const {
  for (std::int64_t r = 0; r < rows; ++r, row.from += row_step) {
    row.to = scratch + r * row_floats();
    sums[r] = kernels->left_row(row);
  }
  kernels_for(isa).transpose_words({.from = scratch,
                                    .from_step = row_floats(),
                                    .to = panel,
                                    .to_step = kernels->tile_rows,
                                    .rows = rows,
                                    .columns = row_floats()});
}

core::Result<void> multiply_codes(const CodeShape& shape, std::span<const CodeProduct> products,
                                  Workspace& ws) {
  const std::int64_t width = shape.left.kernels->tile_columns;
  const std::int64_t across = ceil_div(shape.columns, width);
  const std::int64_t panels = static_cast<std::int64_t>(products.size()) * across;
  const std::int64_t rows = rows_of_task(shape, panels, ws.threads.threads());
  const std::int64_t cuts = ceil_div(shape.rows, rows);
  return run_with_scratch(
      ws, panels * cuts, PanelTask::scratch_floats(shape, std::min(rows, shape.rows)),
      [&](std::int64_t i, float* scratch) {
        // Divisions take longer than what is small.
        const std::int64_t panel = cuts == 1 ? i : i / cuts, cut = i - panel * cuts;
        const std::int64_t product = across == 1 ? panel : panel / across;
        const std::int64_t row = cut * rows, column = (panel - product * across) * width;
        const PanelTask task{shape,  products[static_cast<std::size_t>(product)],
                             row,    std::min(rows, shape.rows - row),
                             column, static_cast<int>(std::min(width, shape.columns - column))};
        task.run(scratch);
      });
}

}  // namespace commensal::kernels::cpu
