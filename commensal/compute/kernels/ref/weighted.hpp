// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

/// Operators whose output element is a weighted sum of a few elements of input 0: one chain
/// `acc = fma(weight, x, acc)` from +0 over the taps in their order, leaving out those of weight 0.
/// One is a type Op:
///   static core::Result<Op> make(const Call&);
///   TensorType type() const;
///   bool copies() const;         an element is its only tap, bit for bit, or `outside`
///   float outside() const;       the element without taps (also where all weights are 0)
///   float divisor(std::int64_t index) const;       the sum is divided by it at the end
///   bool takes_maximum() const;  (optional) no sum but the maximum of weight * x over the taps,
///                                those of weight 0 counting as +0
///   void taps(std::int64_t index, std::vector<Tap>&) const;
///   void extra_reads(const Call&, std::int64_t index, std::vector<ElementRef>&) const;
///       what says where to look
namespace commensal::kernels::ref {

struct Tap {
  std::int64_t index = 0;
  float weight = 1;
};
using Taps = std::vector<Tap>;

/// The cubic kernel with coefficient `a` at distance d (Keys, "Cubic convolution interpolation",
/// 1981): up to 1, and from 1 to 2.
inline float cubic_inner(float d, float a) { return ((a + 2) * d - (a + 3)) * d * d + 1; }
inline float cubic_outer(float d, float a) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; }

/// The weights of the four neighbours of a place `t` beyond the second of them, in [0, 1).
inline std::array<float, 4> cubic_weights(float t, float a) {
  return {cubic_outer(t + 1, a), cubic_inner(t, a), cubic_inner(1 - t, a),
          cubic_outer((1 - t) + 1, a)};
}

/// Every combination of one tap for each axis, row-major: positions joined, weights multiplied in
/// the order of the axes.
inline void cross(const std::vector<Taps>& axes, const Shape& shape, std::int64_t base, Taps& out) {
  Taps made = {{base, 1.0f}};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    const std::int64_t dim = shape[shape.rank() - static_cast<int>(axes.size() - d)];
    Taps next;
    for (const Tap& before : made) {
      for (const Tap& tap : axes[d]) {
        next.push_back({before.index * dim + tap.index, before.weight * tap.weight});
      }
    }
    made = std::move(next);
  }
  out.insert(out.end(), made.begin(), made.end());
}

template <class Op>
struct WeightedPlan {
  Op op;

  static core::Result<WeightedPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto op, Op::make(call));
    return WeightedPlan{std::move(op)};
  }
  std::vector<TensorType> types() const { return {op.type()}; }

  Taps taps(std::int64_t index) const {
    Taps made = all_taps(index);
    drop_weightless(made);
    return made;
  }
  static void drop_weightless(Taps& taps) {
    std::erase_if(taps, [](const Tap& tap) { return tap.weight == 0; });
  }
  template <class T>
  Compute<T> chain(const Call& call, const Taps& taps, std::size_t steps) const {
    const auto x = paced<T>(call, 0);
    Compute<T> acc{0};
    for (std::size_t i = 0; i < std::min(steps, taps.size()); ++i) {
      const auto at = static_cast<std::size_t>(taps[i].index);
      acc = std::fma(static_cast<Compute<T>>(taps[i].weight), load(x[at]), acc);
    }
    return acc;
  }
  bool takes_maximum() const {
    if constexpr (requires { op.takes_maximum(); }) {
      return op.takes_maximum();
    } else {
      return false;
    }
  }
  Taps all_taps(std::int64_t index) const {
    Taps made;
    op.taps(index, made);
    return made;
  }
  template <class T>
  Compute<T> largest(const Call& call, const Taps& taps, std::int64_t steps) const {
    const auto x = paced<T>(call, 0);
    Extreme<Compute<T>, true> best(steps);
    for (std::size_t i = 0; i < taps.size(); ++i) {
      const auto weight = static_cast<Compute<T>>(taps[i].weight);
      const auto at = static_cast<std::size_t>(taps[i].index);
      best.add(static_cast<std::int64_t>(i), weight == 0 ? weight : weight * load(x[at]));
    }
    return best.value();
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      if (takes_maximum()) {
        const Taps every = all_taps(index);
        call.pulse(32 + 8 * every.size());
        return store<T>(every.empty() ? Compute<T>{0} : largest<T>(call, every, kAllSteps));
      }
    }
    Taps found = all_taps(index);
    call.pulse(32 + 8 * found.size());
    drop_weightless(found);
    if (found.empty()) return store<T>(convert<Compute<T>>(op.outside()));
    if (op.copies()) return paced<T>(call, 0)[static_cast<std::size_t>(found[0].index)];
    if constexpr (std::is_floating_point_v<Compute<T>>) {
      const Compute<T> sum = chain<T>(call, found, found.size());
      return store<T>(sum / static_cast<Compute<T>>(op.divisor(index)));
    } else {
      core::check(false, "infer admits integers only where they are copied");
      return T{};
    }
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Everything{}, op.type().dtype,
                 [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Everything{}, op.type().dtype, [&]<class T>() {
      std::int64_t index = 0;
      for (T& y : outputs[0].mutable_data<T>()) y = value<T>(call, index++);
    });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (const Tap& tap : taps(index)) out.push_back({0, tap.index});
    op.extra_reads(call, index, out);
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    if (takes_maximum()) return static_cast<std::int64_t>(all_taps(index).size());
    return op.copies() ? 0 : static_cast<std::int64_t>(taps(index).size());
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    const auto count = static_cast<std::size_t>(op.copies() ? 0 : steps);
    if (!Floats::has(op.type().dtype)) return scalar_of(0.0f);
    return visit(Floats{}, op.type().dtype, [&]<class T>() {
      if (takes_maximum()) {
        return scalar_of(store<Compute<T>>(largest<T>(call, all_taps(index), steps)));
      }
      return scalar_of(store<Compute<T>>(chain<T>(call, taps(index), count)));
    });
  }
};

}  // namespace commensal::kernels::ref
