// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/kernels/cpu/window_columns.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

using shape_inference::Dims;

void WindowColumns::fill_line(const Dims& tap, const Dims& at, int count, const float* plane,
                              float* to) const {
  const auto last = static_cast<std::size_t>(window_.rank - 1);
  std::int64_t line = 0;
  for (std::size_t d = 0; d < last; ++d) {
    const std::int64_t place =
        at[d] * window_.stride[d] + tap[d] * window_.dilation[d] - window_.pad_begin[d];
    if (place < 0 || place >= window_.in[d]) return std::fill_n(to, count, 0.0f), void();
    line = line * window_.in[d] + place;
  }
  const std::int64_t width = window_.in[last], stride = window_.stride[last];
  const std::int64_t first =
      at[last] * stride + tap[last] * window_.dilation[last] - window_.pad_begin[last];
  // Places [begin, end) read inside.
  const std::int64_t begin =
      std::clamp<std::int64_t>(first < 0 ? (-first + stride - 1) / stride : 0, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(
      first >= width ? 0 : (width - first + stride - 1) / stride, begin, count);
  std::fill_n(to, begin, 0.0f);
  std::fill_n(to + end, count - end, 0.0f);
  const float* const from = plane + line * width + first;
  if (stride == 1) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    return;
  }
  for (std::int64_t i = begin; i < end; ++i) to[i] = from[i * stride];
}

void WindowColumns::fill_row(std::int64_t row, std::int64_t column, int columns, float* to) const {
  const auto last = static_cast<std::size_t>(window_.rank - 1);
  const Dims tap = window_.split(row / channels_, window_.kernel);
  const float* const plane = x_ + row % channels_ * window_.in_elements();
  Dims at = window_.split(column, window_.out);
  for (int done = 0; done < columns;) {
    const auto count =
        static_cast<int>(std::min<std::int64_t>(columns - done, window_.out[last] - at[last]));
    fill_line(tap, at, count, plane, to + done);
    done += count;
    at[last] = 0;
    for (std::size_t d = last; d-- > 0;) {  // the next line
      if (++at[d] < window_.out[d]) break;
      at[d] = 0;
    }
  }
}

Columns WindowColumns::block(std::int64_t k, std::int64_t depth, std::int64_t column, int columns,
                             float* scratch) const {
  for (std::int64_t row = 0; row < depth; ++row) {
    float* const to = scratch + row * tile_columns_;
    fill_row(k + row, column, columns, to);
    std::fill(to + columns, to + tile_columns_, 0.0f);
  }
  return {scratch, tile_columns_};
}

}  // namespace commensal::kernels::cpu
