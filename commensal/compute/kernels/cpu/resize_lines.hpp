// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/weighted_line.hpp>
#include <commensal/compute/kernels/ref/sampling.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// What indices of 32 bits reach.
inline bool is_reached(std::int64_t elements) { return elements < std::int64_t{1} << 31; }

/// The axes of a call, cut in two: those of lines, and what is within a line.
class ResizeLines {
 public:
  explicit ResizeLines(ref::Resizing op) : op_(std::move(op)) {
    auto last = static_cast<std::int64_t>(op_.axes.size()) - 1;
    for (; last > 0 && axis(last).still; --last) run_ *= axis(last).in;
    const bool keeps_runs = run_ >= kLongRun;
    columns_ = keeps_runs ? last + 1 : last;
    in_width_ = run_ * (keeps_runs ? 1 : axis(last).in);
    width_ = run_ * (keeps_runs ? 1 : axis(last).out);
    bool shares = false;
    float rows = 1;  // that a line reads, at most
    for (std::int64_t d = 0; d < columns_; ++d) {
      const ref::AxisTaps& a = axis(d);
      lines_ *= a.out;
      in_lines_ *= a.in;
      shares = shares || static_cast<std::int64_t>(a.taps.size()) >= 2 * a.in;
      rows *= static_cast<float>(most_taps(a));
    }
    if (!keeps_runs) list_columns(axis(last));
    const float laid = rows * static_cast<float>(table_.index.size());
    shares_rows_ = shares && taps_ > 1 && laid > 0 && laid <= kLaidMax && rows <= kLaidRowsMax;
  }
  ResizeLines(ResizeLines&&) = default;  // a copy's table would be the other's
  const ref::Resizing& op() const { return op_; }
  std::int64_t bytes() const {  // beside itself
    std::size_t all = index_.size() * (sizeof(std::int32_t) + sizeof(float));
    for (const ref::AxisTaps& a : op_.axes) {
      all += sizeof a + a.begin.size() * sizeof(std::int64_t) + a.taps.size() * sizeof(ref::Tap);
    }
    return static_cast<std::int64_t>(all);
  }
  std::int64_t lines() const { return lines_; }  // of a plane
  std::int64_t width() const { return width_; }
  std::int64_t in_plane() const { return in_lines_ * in_width_; }
  std::int64_t taps() const { return taps_; }
  bool has_table() const { return table_.step > 0; }
  /// Lines of so many places, or taps, that the judge serves: what is listed lies beside the arena.
  bool are_long() const { return is_large_ || width_ > kTableMax; }
  /// Whether several lines read each row of the input by way of the table: LaidRows pays.
  bool share_rows() const { return shares_rows_; }
  const ref::TapTable& table() const { return table_; }

  /// The taps of a line of a plane; `before` is room.
  void taps_of(std::int64_t line, std::vector<LineTap>& taps, std::vector<LineTap>& before) const {
    taps.assign(1, LineTap());
    std::int64_t rest = lines_;
    for (std::int64_t d = 0; d < columns_; ++d) {
      const ref::AxisTaps& a = axis(d);
      rest /= a.out;
      const std::int64_t at = line / rest % a.out;
      if (a.still) {
        for (LineTap& tap : taps) tap.offset = tap.offset * a.in + at;
        continue;
      }
      std::swap(taps, before);
      taps.clear();
      const auto begin = a.begin[static_cast<std::size_t>(at)];
      const auto end = a.begin[static_cast<std::size_t>(at) + 1];
      for (const LineTap& one : before) {
        for (std::int64_t i = begin; i < end; ++i) {
          const ref::Tap& own = a.taps[static_cast<std::size_t>(i)];
          taps.push_back({one.offset * a.in + own.index, one.weight * own.weight});
        }
      }
    }
    for (LineTap& tap : taps) tap.offset *= in_width_;
  }

 private:
  static constexpr std::int64_t kLongRun = 64;
  const ref::AxisTaps& axis(std::int64_t d) const { return op_.axes[static_cast<std::size_t>(d)]; }

  static std::int64_t most_taps(const ref::AxisTaps& a) {
    std::int64_t most = a.still ? 1 : 0;
    for (std::size_t i = 0; i + 1 < a.begin.size(); ++i) {
      most = std::max(most, a.begin[i + 1] - a.begin[i]);
    }
    return most;
  }

  /// A line is places of an axis that moves, each of `run_` elements side by side.
  void list_columns(const ref::AxisTaps& a) {
    if (!is_reached(in_width_)) return;
    taps_ = most_taps(a);
    is_large_ = taps_ > kTableMax / width_;
    if (is_large_) return;
    table_.step = ref::TapTable::step_of(width_);
    const auto size = static_cast<std::size_t>(std::max<std::int64_t>(taps_, 1) * table_.step);
    index_.assign(size, 0), weights_.assign(size, 0.0f);
    table_.index = index_, table_.weights = weights_;
    for (std::int64_t p = 0; p < width_; ++p) {
      const auto place = static_cast<std::size_t>(p / run_);
      for (std::int64_t k = 0; k < a.begin[place + 1] - a.begin[place]; ++k) {
        const ref::Tap& tap = a.taps[static_cast<std::size_t>(a.begin[place] + k)];
        table_.set(k, p, tap.index * run_ + p % run_, tap.weight);
      }
    }
  }

  static constexpr std::int64_t kTableMax = 1 << 22;  // entries
  static constexpr float kLaidMax = 1 << 17;          // elements: what the second cache holds
  static constexpr float kLaidRowsMax = 64;           // they are looked through one by one
  ref::Resizing op_;
  bool is_large_ = false, shares_rows_ = false;
  std::int64_t columns_ = 0;  // the first axis within a line
  std::int64_t run_ = 1, lines_ = 1, in_lines_ = 1, in_width_ = 1, width_ = 1, taps_ = 1;
  std::vector<std::int32_t> index_;  // of the table; they stay where they are if this is moved
  std::vector<float> weights_;
  ref::TapTable table_;
};

/// Rows of the input as the places of a line read them: what tap k of place p reads is at
/// k * step + p of the copy. The lines that read a row come one soon after the other, so it is
/// gathered once for all of them.
template <class C>
class LaidRows {
 public:
  explicit LaidRows(const ResizeLines& lines) : lines_(lines) {}

  /// The copies of the rows that `taps` begin at, from `x` on; makes the taps' offsets theirs.
  const C* lay(const C* x, std::vector<LineTap>& taps) {
    ++line_;
    const std::size_t size = lines_.table().index.size();
    for (LineTap& tap : taps) {
      tap.offset = static_cast<std::int64_t>(found(x + tap.offset, taps.size(), size) * size);
    }
    return copies_.data();
  }

 private:
  struct Row {
    const C* from = nullptr;
    std::int64_t line = 0;  // the last that read it
  };

  /// Where the row is among the copies: of those that this line does not read the oldest gives way.
  std::size_t found(const C* from, std::size_t needed, std::size_t size) {
    const auto same = std::ranges::find(rows_, from, &Row::from);
    auto row = same;
    if (same == rows_.end() && rows_.size() < needed) {
      rows_.emplace_back();
      copies_.resize(rows_.size() * size);
      row = rows_.end() - 1;
    } else if (same == rows_.end()) {
      row = std::ranges::min_element(rows_, {}, &Row::line);
    }
    const auto at = static_cast<std::size_t>(row - rows_.begin());
    if (row->from != from) {
      const std::int32_t* const index = lines_.table().index.data();
      C* const to = copies_.data() + at * size;
      for (std::size_t i = 0; i < size; ++i) to[i] = from[index[i]];
    }
    *row = {from, line_};
    return at;
  }

  const ResizeLines& lines_;
  std::vector<Row> rows_;
  std::vector<C> copies_;
  std::int64_t line_ = 0;
};

}  // namespace commensal::kernels::cpu
