// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/product.hpp>
#include <commensal/compute/kernels/cpu/recurrent_rows.hpp>
#include <commensal/compute/kernels/ref/recurrent_activation.hpp>
#include <memory>
#include <span>
#include <vector>

/// What a call of RNN, GRU or LSTM asks for: sizes, attributes, which items take part when.
namespace commensal::kernels::cpu::recurrent {

enum Input { kX, kW, kR, kB, kLengths, kHidden, kCell, kPeephole };
enum class Cell { kRnn, kGru, kLstm };

constexpr std::int64_t gates_of(Cell cell) {
  return cell == Cell::kRnn ? 1 : cell == Cell::kGru ? 3 : 4;
}

/// A function of every element of a row.
struct RowFunction {
  UnaryFn fn = nullptr;
  UnaryParameters parameters;
  void operator()(const float* x, float* y, std::int64_t count) const {
    fn(x, y, count, parameters);
  }
};
RowFunction function_of(const ref::Activation& of, const CpuKernels& kernels,
                        const RecurrentRows& rows);

/// What the types and the attributes say.
struct Setting {
  Cell cell = Cell::kRnn;
  std::int64_t seq = 0, batch = 0, width = 0, units = 0, directions = 1, gates = 1;
  bool batch_first = false;  // attribute layout
  bool first_reverse = false, linear_before_reset = false, input_forget = false;
  bool has_clip = false;
  float clip = 0;
  std::vector<ref::Activation> functions;  // as many for each direction

  static core::Result<Setting> of(const Call& call, Cell cell);
  /// Of the gates of direction d.
  std::span<const ref::Activation> functions_of(std::int64_t d) const {
    const auto each = functions.size() / static_cast<std::size_t>(directions);
    return std::span(functions).subspan(static_cast<std::size_t>(d) * each, each);
  }
  /// Rows of Y, and of the states.
  std::int64_t y_row(std::int64_t t, std::int64_t d, std::int64_t item) const {
    return batch_first ? (item * seq + t) * directions + d : (t * directions + d) * batch + item;
  }
  std::int64_t state_row(std::int64_t d, std::int64_t item) const {
    return batch_first ? item * directions + d : d * batch + item;
  }
};

/// The items of a batch, the longest first: those of a moment are the first ones, and stay so
/// whichever way time goes. The rows of all moments, and the items of each, follow each other.
/// The setting outlives this.
class Moments {
 public:
  Moments(const Setting& setting, const Call& call);
  std::int64_t rows() const { return first_.back(); }
  std::int64_t first_row(std::int64_t t) const { return first_[static_cast<std::size_t>(t)]; }
  std::int64_t items(std::int64_t t) const { return first_row(t + 1) - first_row(t); }
  std::int64_t item(std::int64_t rank) const {
    return order_ == nullptr ? rank : order_[static_cast<std::size_t>(rank)];
  }
  /// Calls f(i, row of X) for the rows first + i, i in [0, count).
  template <class F>
  void for_rows(std::int64_t first, std::int64_t count, const F& f) const {
    auto t = std::upper_bound(first_.begin(), first_.end(), first) - first_.begin() - 1;
    for (std::int64_t i = 0; i < count; ++i) {
      while (first + i >= first_row(t + 1)) ++t;
      const std::int64_t of = item(first + i - first_row(t));
      f(i, setting_.batch_first ? of * setting_.seq + t : t * setting_.batch + of);
    }
  }

 private:
  const Setting& setting_;
  std::vector<std::int64_t> first_;
  std::unique_ptr<std::int64_t[]> order_;  // null: as they come
};

/// Inputs as binary32, which 16-bit floats become.
class Elements {
 public:
  Elements(const Call& call, Isa isa) : call_(call) {
    if (is_half(call.in(kX).dtype())) halves_ = half_kernels_for(isa, call.in(kX).dtype());
  }
  void read(Input input, std::int64_t at, std::int64_t count, float* to) const;
  /// To an output, NaN canonical.
  void write(const float* from, std::int64_t count, Tensor& to, std::int64_t at) const;

 private:
  const Call& call_;
  HalfKernels halves_;
};

/// What all directions of a call share.
struct Layer {
  const Call& call;
  const Setting& setting;
  const Moments& moments;
  const Elements& elements;
  Workspace& ws;
};

/// All of x in panels, to `panels`, moment by moment. Error: kResourceExhausted.
core::Result<Rows> pack_x(const Layer& layer, float* panels);

}  // namespace commensal::kernels::cpu::recurrent
