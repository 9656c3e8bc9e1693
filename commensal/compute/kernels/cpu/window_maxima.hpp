// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/extremes.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// The largest number of each window of a plane: of the rows of a window first, then of the columns
/// of what they left. T: float or double. Thread-safety: immutable.
template <class T>
class WindowMaxima {
 public:
  WindowMaxima(const shape_inference::Window& window, Isa isa)
      : lines_(window), kernels_(window_kernels_for<T>(isa)) {
    const auto d = static_cast<std::size_t>(--lines_.rank);
    width_ = window.in[d], out_width_ = window.out[d], before_ = window.pad_begin[d];
    stride_ = window.stride[d], taps_ = window.kernel[d], dilation_ = window.dilation[d];
    tile_ = std::min(out_width_, std::max<std::int64_t>(kTile / stride_, 1));
    const std::int64_t all = lines_.out_elements(), over = lines_.taps();
    if (all <= kListed / over) list(0, all, listed_);
    // Where most rows are in many windows, they are made keys once.
    const bool pays = over * all >= 2 * lines_.in_elements() && all > 1;
    if (pays && window.in_elements() <= kKeyed) keyed_step_ = width_ + WindowLines<T>::kSlack;
  }
  /// Keys that run() needs room for.
  std::int64_t scratch() const { return line_keys() + keyed_step_ * lines_.in_elements(); }

  void run(Pulse& pulse, const T* x, T* y, OrderKey<T>* keys) const {
    WindowLines<T> w;
    w.x = x, w.row_step = width_;
    if (keyed_step_ > 0) {
      w.keyed = keys + line_keys(), w.row_step = keyed_step_;
      for (std::int64_t row = 0; row < lines_.in_elements(); ++row) {
        kernels_.keys(x + row * width_, keys + line_keys() + row * keyed_step_, width_);
      }
      pulse(lines_.in_elements() * width_);
    }
    w.keys = keys, w.y = y, w.y_step = out_width_;
    w.stride = stride_, w.taps = taps_, w.dilation = dilation_;
    const std::int64_t a_line = lines_.taps() * width_ + taps_ * out_width_;
    const std::int64_t at_once = std::max<std::int64_t>(kSteps / a_line, 1);
    Rows own;
    for (std::int64_t line = 0; line < lines_.out_elements(); line += w.lines) {
      w.lines = std::min(at_once, lines_.out_elements() - line);
      w.rows = listed_.rows.data(), w.ends = listed_.ends.data() + line;
      if (listed_.ends.empty()) {
        list(line, w.lines, own);
        w.rows = own.rows.data(), w.ends = own.ends.data();
      }
      for (std::int64_t column = 0; column < out_width_; column += tile_) {
        run_tile(w, column, y + line * out_width_);
        pulse(w.lines * (lines_.taps() * w.width + taps_ * w.columns));
      }
    }
  }

 private:
  static constexpr std::int64_t kTile = 1 << 12;    // columns
  static constexpr std::int64_t kSteps = 1 << 16;   // between two pulses
  static constexpr std::int64_t kListed = 1 << 16;  // rows
  static constexpr std::int64_t kKeyed = 1 << 15;   // elements: what the second cache holds

  struct Rows {
    std::vector<std::int64_t> rows, ends;
  };
  std::int64_t reach(std::int64_t columns) const {
    return (columns - 1) * stride_ + (taps_ - 1) * dilation_ + 1;
  }
  std::int64_t line_keys() const { return reach(tile_) + 2 * WindowLines<T>::kSlack; }
  void list(std::int64_t first, std::int64_t count, Rows& made) const {
    made.rows.clear();
    made.ends.assign(1, 0);
    for (std::int64_t line = first; line < first + count; ++line) {
      lines_.for_taps(lines_.split(line, lines_.out),
                      [&](std::int64_t, std::int64_t row) { made.rows.push_back(row); });
      made.ends.push_back(std::ssize(made.rows));
    }
  }
  /// Outputs from `column` on of the lines of w.
  void run_tile(WindowLines<T>& w, std::int64_t column, T* y) const {
    w.columns = std::min(tile_, out_width_ - column);
    w.reach = reach(w.columns);
    w.y = y + column;
    const std::int64_t from = column * stride_ - before_;  // in the row
    const std::int64_t begin = std::clamp<std::int64_t>(from, 0, width_);
    w.before = std::min(begin - from, w.reach);
    w.width = std::max<std::int64_t>(std::min(from + w.reach, width_) - begin, 0);
    WindowLines<T> tile = w;
    if (w.keyed != nullptr) tile.keyed += begin;
    tile.x += begin;
    kernels_.maxima(tile);
  }

  shape_inference::Window lines_;  // the dimensions before the last
  const WindowKernels<T>& kernels_;
  std::int64_t width_, out_width_, before_, stride_, taps_, dilation_, tile_;
  std::int64_t keyed_step_ = 0;  // 0: keys are made where they are met
  Rows listed_;                  // of all lines, unless they are too many
};

}  // namespace commensal::kernels::cpu
