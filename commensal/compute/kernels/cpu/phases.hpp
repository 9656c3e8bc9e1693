// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>

namespace commensal::kernels::cpu {

/// Rows of a picture with +0 (or `around`) around them, taken apart by column modulo `parts`, so
/// that what neighbouring outputs (a stride or a tile apart) read lies side by side: column x of
/// row y is at [x % parts][y][x / parts].
struct Phases {
  std::int64_t parts = 1;
  std::int64_t rows = 0;
  std::int64_t width = 0;  // of one part
  int lanes = 0;           // so much may be read beyond the end

  std::int64_t part_floats() const { return rows * width; }
  std::int64_t floats() const { return part_floats() * parts + lanes; }

  /// Row r here is row r - top of `plane`, column x is its column x - left >= -left.
  void fill(const CpuKernels& kernels, const float* plane, std::int64_t in_height,
            std::int64_t in_width, std::int64_t top, std::int64_t left, float* to,
            float around = 0.0f) const {
    std::fill_n(to, floats(), around);
    const std::int64_t first_row = std::max<std::int64_t>(top, 0);
    const std::int64_t end_row = std::min(rows, in_height + top);
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = ((part - left) % parts + parts) % parts;  // a picture's column
      const std::int64_t place = (first + left) / parts;
      const std::int64_t count = std::min((in_width - first + parts - 1) / parts, width - place);
      for (std::int64_t r = first_row; r < end_row; ++r) {
        kernels.copy_every(plane + (r - top) * in_width + first, parts,
                           to + part * part_floats() + r * width + place, static_cast<int>(count));
      }
    }
  }
};

}  // namespace commensal::kernels::cpu
