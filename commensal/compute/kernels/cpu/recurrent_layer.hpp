// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/compute/kernels/cpu/halves.hpp>
#include <commensal/compute/kernels/cpu/recurrent_rows.hpp>
#include <commensal/compute/kernels/ref/recurrent_activation.hpp>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <string>
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
inline RowFunction function_of(const ref::Activation& of, const CpuKernels& kernels,
                               const RecurrentRows& rows) {
  const auto unary = [&](Unary what) { return kernels.unary[static_cast<std::size_t>(what)]; };
  const UnaryFn by_kind[] = {rows.affine,
                             unary(Unary::kElu),
                             unary(Unary::kHardSigmoid),
                             unary(Unary::kLeakyRelu),
                             unary(Unary::kRelu),
                             rows.scaled_tanh,
                             unary(Unary::kSigmoid),
                             unary(Unary::kSoftplus),
                             rows.softsign,
                             unary(Unary::kTanh),
                             rows.thresholded_relu};
  return {by_kind[static_cast<std::size_t>(of.kind)], {of.alpha, of.beta}};
}

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
class Moments {
 public:
  Moments(const Setting& setting, const Call& call);
  std::int64_t rows() const { return first_.back(); }
  std::int64_t first_row(std::int64_t t) const { return first_[static_cast<std::size_t>(t)]; }
  std::int64_t items(std::int64_t t) const { return first_row(t + 1) - first_row(t); }
  std::int64_t item(std::int64_t rank) const { return order_[static_cast<std::size_t>(rank)]; }
  /// Which row of X a row is.
  std::int64_t x_row(std::int64_t row) const { return x_rows_[static_cast<std::size_t>(row)]; }

 private:
  std::vector<std::int64_t> order_, first_, x_rows_;
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

inline core::Result<Setting> Setting::of(const Call& call, Cell cell) {
  Setting made;
  made.cell = cell;
  made.gates = gates_of(cell);
  COMMENSAL_ASSIGN(const std::string way, call.attributes->text("direction", "forward"));
  COMMENSAL_ASSIGN(made.batch_first, call.attributes->integer("layout", 0));
  COMMENSAL_ASSIGN(made.linear_before_reset, call.attributes->integer("linear_before_reset", 0));
  COMMENSAL_ASSIGN(made.input_forget, call.attributes->integer("input_forget", 0));
  constexpr float kNone = std::numeric_limits<float>::infinity();
  COMMENSAL_ASSIGN(made.clip, call.attributes->real("clip", kNone));
  made.first_reverse = way == "reverse";
  made.has_clip = made.clip != kNone;
  const tensor::Shape &x = call.in(kX).shape(), &r = call.in(kR).shape();
  made.seq = x[made.batch_first ? 1 : 0];
  made.batch = x[made.batch_first ? 0 : 1];
  made.width = x[2];
  made.units = r[2];
  made.directions = r[0];
  COMMENSAL_ASSIGN(made.functions, ref::activations_of(call, made.directions, made.gates));
  return made;
}

inline Moments::Moments(const Setting& setting, const Call& call)
    : order_(static_cast<std::size_t>(setting.batch)) {
  std::iota(order_.begin(), order_.end(), std::int64_t{0});
  std::vector<std::int64_t> lengths(order_.size(), setting.seq);
  if (call.has(kLengths)) {
    std::ranges::copy(call.in(kLengths).data<std::int32_t>(), lengths.begin());
    std::ranges::stable_sort(order_, std::greater(), [&](std::int64_t item) {
      return lengths[static_cast<std::size_t>(item)];
    });
  }
  std::int64_t items = setting.batch;
  first_.push_back(0);
  for (std::int64_t t = 0; t < setting.seq; ++t) {
    while (items > 0 && lengths[static_cast<std::size_t>(item(items - 1))] <= t) --items;
    for (std::int64_t rank = 0; rank < items; ++rank) {
      x_rows_.push_back(setting.batch_first ? item(rank) * setting.seq + t
                                            : t * setting.batch + item(rank));
    }
    first_.push_back(first_.back() + items);
    call.pulse(items + 1);
  }
}

inline void Elements::read(Input input, std::int64_t at, std::int64_t count, float* to) const {
  const Tensor& from = call_.in(input);
  if (halves_.widen != nullptr) return halves_.widen(half_bits(from) + at, to, count);
  std::memcpy(to, from.data<float>().data() + at, static_cast<std::size_t>(count) * sizeof(float));
}

inline void Elements::write(const float* from, std::int64_t count, Tensor& to,
                            std::int64_t at) const {
  if (halves_.round != nullptr) return halves_.round(from, half_bits(to) + at, count);
  std::memcpy(to.mutable_data<float>().data() + at, from,
              static_cast<std::size_t>(count) * sizeof(float));
}

}  // namespace commensal::kernels::cpu::recurrent
