// SPDX-License-Identifier: Apache-2.0
// Functions of doubles, one by one and of whole rows.
#include <algorithm>
#include <array>
#include <cmath>
#include <commensal/compute/kernels/cpu/doubles.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/math/binary64.hpp>
#include <commensal/compute/kernels/ref/fold_rows.hpp>
#include <limits>
#include <optional>

namespace commensal::kernels::cpu {

namespace {

/// Elements between two pulses, a multiple of a sum's lanes.
constexpr std::int64_t kPieceDoubles = 1024;

/// What the elements of a row share, in the order of ref/fold.hpp: handed over in pieces of
/// kPieceDoubles, the last one of fewer; twice, first for the largest.
class RowOfDoubles {
 public:
  explicit RowOfDoubles(const DoubleKernels& kernels) : kernels_(kernels) { lanes_.fill(-0.0); }

  void look_at(const double* x, std::int64_t count) {
    // The larger of two numbers in the order of maxima.
    const std::array<double, 2> both = {largest_, kernels_.largest(x, count)};
    largest_ = kernels_.largest(both.data(), 2);
  }
  /// exp(x - shift) to y, and into the sum.
  void add(const double* x, double shift, double* y, std::int64_t count) {
    kernels_.exp_sum(x, shift, y, count, lanes_.data());
  }
  double largest() const { return largest_; }
  double total() {
    for (std::size_t half = lanes_.size() / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane) lanes_[lane] += lanes_[lane + half];
    }
    return lanes_[0] + 0.0;
  }

 private:
  const DoubleKernels& kernels_;
  double largest_ = -std::numeric_limits<double>::infinity();
  std::array<double, 32> lanes_;
};

/// Calls f(from, count) for a row in pieces, with a pulse after each.
template <class F>
void in_pieces_of(Pulse& pulse, std::int64_t length, const F& f) {
  for (std::int64_t at = 0; at < length; at += kPieceDoubles) {
    const std::int64_t count = std::min(kPieceDoubles, length - at);
    f(at, count);
    pulse(4 * count);
  }
}

void softmax_row(Pulse& pulse, const DoubleKernels& kernels, const DoubleRows& rows,
                 const double* x, double* y) {
  RowOfDoubles row(kernels);
  in_pieces_of(pulse, rows.length,
               [&](std::int64_t at, std::int64_t count) { row.look_at(x + at, count); });
  const double shift = row.largest();
  std::array<double, kPieceDoubles> unkept;
  in_pieces_of(pulse, rows.length, [&](std::int64_t at, std::int64_t count) {
    row.add(x + at, shift, rows.logarithm ? unkept.data() : y + at, count);
  });
  const double total = row.total();
  const double logarithm = rows.logarithm ? math::binary64::log(total) : 0;
  in_pieces_of(pulse, rows.length, [&](std::int64_t at, std::int64_t count) {
    if (rows.logarithm) {
      kernels.subtract(x + at, shift, logarithm, y + at, count);
    } else {
      kernels.divide(y + at, total, y + at, count);
    }
  });
}

/// Calls f(x, count) for the elements that output `output` folds, side by side, in pieces of
/// kPieceDoubles but for the last.
template <class F>
void for_folded(Pulse& pulse, const ref::FoldLayout& layout, const double* x, std::int64_t output,
                const F& f) {
  const double* const from = x + layout.base(output / layout.inner()) + output % layout.inner();
  if (layout.runs().size() == 1) {
    return in_pieces_of(pulse, layout.run(),
                        [&](std::int64_t at, std::int64_t count) { f(from + at, count); });
  }
  std::array<double, kPieceDoubles> together;
  std::int64_t have = 0;
  const auto flush = [&] {
    f(together.data(), have);
    pulse(4 * have);
    have = 0;
  };
  for (const std::int64_t run : layout.runs()) {
    for (std::int64_t i = 0; i < layout.run();) {
      const std::int64_t part = std::min(kPieceDoubles - have, layout.run() - i);
      std::copy_n(from + run + i, part, together.data() + have);
      i += part;
      have += part;
      if (have == kPieceDoubles) flush();
    }
  }
  if (have > 0) flush();
}

}  // namespace

bool map_doubles(Unary what, const Tensor& x, Tensor& y, Workspace& ws) {
  const auto fn = double_kernels_for(ws.isa).unary[static_cast<std::size_t>(what)];
  if (fn == nullptr) return false;
  constexpr std::int64_t kTask = 8192;
  const std::int64_t count = y.elements();
  const double* const from = x.data<double>().data();
  double* const to = y.mutable_data<double>().data();
  ws.threads.run(ceil_div(count, kTask), [&](std::int64_t i) {
    fn(from + i * kTask, to + i * kTask, std::min(kTask, count - i * kTask));
  });
  return true;
}

core::Result<void> softmax_doubles(const DoubleRows& rows, const double* x, double* y,
                                   Workspace& ws) {
  const DoubleKernels& kernels = double_kernels_for(ws.isa);
  const std::int64_t length = rows.length, inner = rows.inner;
  const std::int64_t a_task = std::max<std::int64_t>(4096 / length, 1);
  constexpr std::int64_t kFloats = sizeof(double) / sizeof(float);
  return run_with_scratch(ws, ceil_div(rows.rows, a_task), inner == 1 ? 0 : kFloats * length,
                          [&](std::int64_t task, float* scratch) {
                            Pulse pulse(&ws.threads);
                            const std::int64_t end = std::min(rows.rows, (task + 1) * a_task);
                            for (std::int64_t row = task * a_task; row < end; ++row) {
                              const std::int64_t first = row / inner * length * inner + row % inner;
                              if (inner == 1) {
                                softmax_row(pulse, kernels, rows, x + first, y + first);
                                continue;
                              }
                              auto* const line = reinterpret_cast<double*>(scratch);
                              in_pieces_of(pulse, length, [&](std::int64_t at, std::int64_t count) {
                                for (std::int64_t k = at; k < at + count; ++k)
                                  line[k] = x[first + k * inner];
                              });
                              softmax_row(pulse, kernels, rows, line, line);
                              in_pieces_of(pulse, length, [&](std::int64_t at, std::int64_t count) {
                                for (std::int64_t k = at; k < at + count; ++k)
                                  y[first + k * inner] = line[k];
                              });
                            }
                          });
}

core::Result<bool> log_sum_exp_doubles(const Call& call, Tensor& output, Workspace& ws) {
  struct Parsed {
    std::optional<ref::FoldLayout> layout;
    std::int64_t elements = 0;  // of an output
    std::int64_t bytes() const {
      return static_cast<std::int64_t>(sizeof *this) + (layout ? layout->bytes() : 0);
    }
  };
  const auto parse = [&]() -> core::Result<Parsed> {
    COMMENSAL_ASSIGN(auto axes, shape_inference::list_from(call, "axes", 1, 18));
    COMMENSAL_ASSIGN(const std::int64_t noop, call.attributes->integer("noop_with_empty_axes", 0));
    COMMENSAL_ASSIGN(const auto folding, ref::Folding::of(call, std::move(axes), true, noop != 0));
    Parsed made;
    const bool serves =
        !folding.identity && call.in(0).elements() > 0 && ref::FoldLayout::suits(folding);
    if (!serves) return made;
    made.layout.emplace(folding);
    made.elements = folding.count();
    return made;
  };
  COMMENSAL_ASSIGN(const auto parsed, call.memo.of(parse));
  if (!parsed->layout) return false;
  const ref::FoldLayout& layout = *parsed->layout;
  const DoubleKernels& kernels = double_kernels_for(ws.isa);
  const double* const x = call.in(0).data<double>().data();
  double* const y = output.mutable_data<double>().data();
  const std::int64_t a_task = std::max<std::int64_t>(4096 / parsed->elements, 1);
  const std::int64_t outputs = output.elements();
  ws.threads.run(ceil_div(outputs, a_task), [&](std::int64_t task) {
    Pulse pulse(&ws.threads);
    std::array<double, kPieceDoubles> unkept;
    for (std::int64_t i = task * a_task; i < std::min(outputs, (task + 1) * a_task); ++i) {
      RowOfDoubles row(kernels);
      for_folded(pulse, layout, x, i,
                 [&](const double* from, std::int64_t count) { row.look_at(from, count); });
      const double shift = std::isinf(row.largest()) ? 0 : row.largest();
      for_folded(pulse, layout, x, i, [&](const double* from, std::int64_t count) {
        row.add(from, shift, unkept.data(), count);
      });
      const double made = shift + math::binary64::log(row.total());
      y[i] = made != made ? std::numeric_limits<double>::quiet_NaN() : made;
    }
  });
  return true;
}

}  // namespace commensal::kernels::cpu
