// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/extremes.hpp>
#include <commensal/compute/kernels/pulse.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// The largest number of each window of a plane that is not empty: of the rows of a window first,
/// then of the columns of what they left. T: float or double. Thread-safety: immutable.
template <class T>
class WindowMaxima {
 public:
  WindowMaxima(const shape_inference::Window& window, Isa isa)
      : lines_(window), kernels_(window_kernels_for<T>(isa)) {
    const auto d = static_cast<std::size_t>(--lines_.rank);
    width_ = window.in[d], before_ = window.pad_begin[d], out_width_ = window.out[d];
    stride_ = window.stride[d], taps_ = window.kernel[d], dilation_ = window.dilation[d];
    const std::int64_t reach = (out_width_ - 1) * stride_ + (taps_ - 1) * dilation_ + 1;
    line_keys_ = std::max(reach, before_ + width_);
    a_line_ = lines_.taps() * width_ + taps_ * out_width_ + line_keys_;
    const std::int64_t all = lines_.out_elements(), rows = lines_.in_elements();
    if (all <= kListed / lines_.taps()) list(0, all, listed_);
    // Where most rows are in many windows, they are made keys once.
    const std::int64_t step = width_ + kRowSlack;
    if (all > 1 && all * lines_.taps() >= 2 * rows && rows <= kKeyed / step) keyed_step_ = step;
  }
  /// Of what is listed.
  std::int64_t bytes() const {
    constexpr auto kPlace = static_cast<std::int64_t>(sizeof(std::int64_t));
    return kPlace * (std::ssize(listed_.rows) + std::ssize(listed_.ends));
  }
  /// Keys that run() needs room for.
  std::int64_t scratch() const {
    return line_keys_ + keyed_step_ * lines_.in_elements() + 2 * WindowLines<T>::kSlack;
  }

  void run(Pulse& pulse, const T* x, T* y, OrderKey<T>* keys) const {
    WindowLines<T> w{.x = x, .row_step = width_, .before = before_, .width = width_};
    if (keyed_step_ > 0) {
      OrderKey<T>* const keyed = keys + line_keys_ + WindowLines<T>::kSlack;
      for (std::int64_t row = 0; row < lines_.in_elements(); ++row) {
        kernels_.keys(x + row * width_, keyed + row * keyed_step_, width_);
      }
      pulse(lines_.in_elements() * keyed_step_);
      w.keyed = keyed, w.row_step = keyed_step_;
    }
    w.stride = stride_, w.taps = taps_, w.dilation = dilation_;
    w.keys = keys, w.reach = line_keys_;
    w.y_step = w.columns = out_width_;
    const std::int64_t at_once = std::max<std::int64_t>(kSteps / a_line_, 1);
    Rows own;
    for (std::int64_t line = 0; line < lines_.out_elements(); line += w.lines) {
      w.lines = std::min(at_once, lines_.out_elements() - line);
      w.rows = listed_.rows.data(), w.ends = listed_.ends.data() + line;
      if (listed_.ends.empty()) {
        list(line, w.lines, own);
        pulse(std::ssize(own.rows));
        w.rows = own.rows.data(), w.ends = own.ends.data();
      }
      w.y = y + line * out_width_;
      if (a_line_ > kSteps) {
        in_pieces(pulse, w);
      } else {
        kernels_.maxima(w);
        pulse(w.lines * a_line_);
      }
    }
  }

 private:
  static constexpr std::int64_t kSteps = 1 << 17;   // between two pulses
  static constexpr std::int64_t kListed = 1 << 16;  // rows
  static constexpr std::int64_t kKeyed = 1 << 15;   // keys: what the second cache holds
  static constexpr std::int64_t kRowSlack = 16;     // a vector

  struct Rows {
    std::vector<std::int64_t> rows, ends;
  };
  void list(std::int64_t first, std::int64_t count, Rows& made) const {
    made.rows.clear();
    made.ends.assign(1, 0);
    for (std::int64_t line = first; line < first + count; ++line) {
      lines_.for_taps(lines_.split(line, lines_.out),
                      [&](std::int64_t, std::int64_t row) { made.rows.push_back(row); });
      made.ends.push_back(std::ssize(made.rows));
    }
  }

  /// One long line. Pieces of columns are whole vectors.
  void in_pieces(Pulse& pulse, const WindowLines<T>& line) const {
    constexpr std::int64_t kNone[] = {0, 0};
    WindowLines<T> outside = line;
    outside.ends = kNone, outside.before = 0, outside.width = line_keys_;
    rows_in_pieces(pulse, outside, 1);
    rows_in_pieces(pulse, line, line.ends[1] - line.ends[0]);
    const std::int64_t piece = piece_for(taps_);
    for (std::int64_t at = 0; at < out_width_; at += piece) {
      WindowLines<T> part = line;
      part.columns = std::min(piece, out_width_ - at);
      part.keys += at * stride_, part.y += at;
      kernels_.columns(part);
      pulse(taps_ * part.columns);
    }
  }
  void rows_in_pieces(Pulse& pulse, const WindowLines<T>& line, std::int64_t rows) const {
    const std::int64_t piece = piece_for(rows);
    for (std::int64_t at = 0; at < line.width; at += piece) {
      WindowLines<T> part = line;
      part.width = std::min(piece, line.width - at);
      part.keys += at;
      if (part.keyed != nullptr) {
        part.keyed += at;
      } else {
        part.x += at;
      }
      kernels_.rows(part);
      pulse(rows * part.width);
    }
  }
  static std::int64_t piece_for(std::int64_t steps_a_column) {
    return std::max<std::int64_t>(kSteps / std::max<std::int64_t>(steps_a_column, 1) / 16, 1) * 16;
  }

  shape_inference::Window lines_;  // the dimensions before the last
  const WindowKernels<T>& kernels_;
  std::int64_t width_, before_, out_width_, stride_, taps_, dilation_;
  std::int64_t line_keys_, a_line_;
  std::int64_t keyed_step_ = 0;  // 0: keys are made where they are met
  Rows listed_;                  // of all lines, unless they are too many
};

}  // namespace commensal::kernels::cpu
