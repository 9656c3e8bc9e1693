// SPDX-License-Identifier: Apache-2.0
// Every set of code kernels that this machine can run, also those that a better one hides, against
// sums of plain loops.
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/cpu/quantized/lanes.hpp>
#include <vector>

namespace commensal::kernels::cpu {
namespace {

struct Matrix {
  std::int64_t rows, columns;
  std::vector<std::uint8_t> bytes;

  // Extremes more often than not.
  static Matrix random(core::CounterRng& rng, std::int64_t rows, std::int64_t columns) {
    Matrix made{rows, columns, {}};
    constexpr std::uint8_t kEnds[] = {0, 127, 128, 255};
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::uint32_t word = rng.next_u32();
      made.bytes.push_back(word % 3 == 0 ? static_cast<std::uint8_t>(word >> 8)
                                         : kEnds[word >> 8 & 3]);
    }
    return made;
  }
  std::uint8_t at(std::int64_t r, std::int64_t c) const {
    return bytes[static_cast<std::size_t>(r * columns + c)];
  }
};

// uint8 rows times int8 columns, both turned.
void check(const CodeKernels& kernels, std::int64_t rows, std::int64_t depth, int columns) {
  SCOPED_TRACE(fmt::format("{} {}x{}x{}", kernels.name, rows, depth, columns));
  core::CounterRng rng(static_cast<std::uint64_t>(rows * depth * columns), 3);
  const Matrix a = Matrix::random(rng, rows, depth), b = Matrix::random(rng, depth, columns);
  const std::int64_t words = words_of(depth), width = kernels.tile_columns;
  const auto parts = static_cast<std::int64_t>(kernels.left_parts);
  std::vector<float> left(static_cast<std::size_t>((rows + 8) * words * parts)),
      row(static_cast<std::size_t>(words * parts)), right(static_cast<std::size_t>(words * width));
  const std::int64_t height = kernels.tile_rows;
  std::vector<float> panels(static_cast<std::size_t>((rows + height) * words * parts));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int32_t sum = kernels.left_row(
        {.from = a.bytes.data() + r * depth, .count = depth, .flip = kFlip, .to = row.data()});
    std::int32_t expected = 0;
    for (std::int64_t k = 0; k < depth; ++k) expected += a.at(r, k) - 128;
    ASSERT_EQ(sum, expected);
    for (std::int64_t k = 0; k < words * parts; ++k) {
      panels[static_cast<std::size_t>(r / height * height * words * parts + k * height +
                                      r % height)] = row[static_cast<std::size_t>(k)];
    }
  }
  kernels.right_rows({.from = b.bytes.data(),
                      .row_step = columns,
                      .rows = depth,
                      .columns = columns,
                      .flip = kFlip,
                      .to = right.data(),
                      .to_step = width});
  std::vector<std::int32_t> c(static_cast<std::size_t>(rows * width), 7);
  kernels.product({.a = panels.data(),
                   .a_panel_step = height * words * parts,
                   .a_step = height,
                   .b = right.data(),
                   .b_step = width,
                   .c = c.data(),
                   .rows = rows,
                   .depth = words,
                   .columns = columns,
                   .resume = true});
  for (std::int64_t r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) {
      std::int32_t expected = 7;
      for (std::int64_t k = 0; k < depth; ++k) {
        expected += (a.at(r, k) - 128) * (static_cast<std::int8_t>(b.at(k, j)) + 128);
      }
      ASSERT_EQ(c[static_cast<std::size_t>(r * width + j)], expected) << r << " " << j;
    }
  }
}

TEST(EqualityOfCodeKernels, EveryTail) {
  for (const CodeKernels* kernels : available_code_kernels()) {
    for (std::int64_t rows = 1; rows <= 17; ++rows) check(*kernels, rows, 6, 5);
    for (std::int64_t depth = 1; depth <= 40; ++depth) check(*kernels, 3, depth, 7);
    for (int columns = 1; columns <= kernels->tile_columns; ++columns) {
      check(*kernels, 2, 9, columns);
    }
    check(*kernels, 9, 1000, kernels->tile_columns);
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
