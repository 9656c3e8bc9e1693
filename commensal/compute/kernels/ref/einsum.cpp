// SPDX-License-Identifier: Apache-2.0
// Einsum: one chain per output over the labels that are summed, in alphabetical order, the last
// one fastest: acc = fma(x_0 * x_1 * ... , x_last, acc) from +0 (one operand: times 1).
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/einsum.hpp>
#include <map>
#include <span>

namespace commensal::kernels::ref {
namespace {

using Equation = shape_inference::Einsum;
using Labels = Equation::Labels;

constexpr std::int64_t kEinsumColumns = 128;

// What is gone through: the outputs in rows of neighbours, and what each sums in rows of steps.
struct EinsumLoops {
  using Loop = Equation::Loop;
  std::vector<Loop> outer, sums;
  Loop inner, last;  // of `outer` and of `sums`
  std::int64_t blocks = 1;

  EinsumLoops() = default;
  explicit EinsumLoops(const Equation& e) : outer(e.loops(e.output)), sums(e.loops(e.summed)) {
    inner.steps.assign(e.operands.size() + 1, 0);
    last = inner;
    if (!outer.empty()) inner = outer.back(), outer.pop_back();
    if (!sums.empty()) last = sums.back(), sums.pop_back();
    blocks = (inner.extent + kEinsumColumns - 1) / kEinsumColumns;
  }
  std::int64_t pieces() const { return Equation::turns(outer) * blocks; }
};

// Outputs of one row at a time.
template <class T>
class EinsumRow {
 public:
  using C = Compute<T>;
  EinsumRow(const Call& call, const EinsumLoops& loops)
      : call_(call), loops_(loops), operands_(call.inputs.size()) {
    if (operands_ > kFew) many_.resize(2 * operands_);
    std::int64_t* const places = operands_ > kFew ? many_.data() : few_.data();
    at_ = {places, operands_}, first_ = {places + operands_, operands_};
  }

  void run(std::int64_t piece, T* y) {
    const std::int64_t row = piece / loops_.blocks, from = piece % loops_.blocks * kEinsumColumns;
    const std::int64_t count = std::min(kEinsumColumns, loops_.inner.extent - from);
    const std::int64_t turns = loops_.last.extent == 0 ? 0 : Equation::turns(loops_.sums);
    std::fill_n(acc_.begin(), count, C{0});
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      for (std::size_t o = 0; o < operands_; ++o) {
        at_[o] = Equation::place(loops_.outer, o, row) + from * loops_.inner.steps[o] +
                 Equation::place(loops_.sums, o, turn);
      }
      if (count >= loops_.last.extent || count >= kEinsumColumns / 8) {
        beside(count);
      } else {
        one_by_one(count);
      }
    }
    T* const to = y + row * loops_.inner.extent + from;
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = store<T>(add_bias(acc_[static_cast<std::size_t>(i)], C{0}));
    }
  }

 private:
  // The two factors of `count` steps that lie `loop` apart.
  struct Factors {
    const C* left;
    std::int64_t left_step;
    const C* right;
    std::int64_t right_step;
  };
  void beside(std::int64_t count) {
    for (std::int64_t k = 0; k < loops_.last.extent; ++k) {
      const Factors f = factors(loops_.inner, count);
      step_pairs(f.left, f.left_step, f.right, f.right_step, acc_.data(), count);
      call_.pulse(count);
      for (std::size_t o = 0; o < operands_; ++o) at_[o] += loops_.last.steps[o];
    }
  }
  void one_by_one(std::int64_t count) {
    std::ranges::copy(at_, first_.begin());
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t o = 0; o < operands_; ++o) at_[o] = first_[o] + i * loops_.inner.steps[o];
      C& acc = acc_[static_cast<std::size_t>(i)];
      for (std::int64_t k = 0; k < loops_.last.extent; k += kEinsumColumns) {
        const std::int64_t part = std::min(kEinsumColumns, loops_.last.extent - k);
        const Factors f = factors(loops_.last, part);
        acc = ref::chain(acc, f.left, f.left_step, f.right, f.right_step, part);
        call_.pulse(part);
        for (std::size_t o = 0; o < operands_; ++o) at_[o] += part * loops_.last.steps[o];
      }
    }
  }
  // An operand in the type of sums; copied to `room` only where it is stored in another.
  std::pair<const C*, std::int64_t> operand(std::size_t o, std::int64_t step, std::int64_t count,
                                            C* room) const {
    const T* const from = call_.in(static_cast<int>(o)).template data<T>().data() + at_[o];
    if constexpr (std::is_same_v<T, C>) {
      return {from, step};
    } else {
      const std::int64_t different = step == 0 ? 1 : count;
      for (std::int64_t i = 0; i < different; ++i) room[i] = load(from[i * step]);
      return {room, step == 0 ? 0 : 1};
    }
  }
  Factors factors(const Equation::Loop& loop, std::int64_t count) {
    auto [left, left_step] = operand(0, loop.steps[0], count, left_.data());
    if (operands_ == 1) return {left, left_step, &one_, 0};
    for (std::size_t o = 1; o + 1 < operands_; ++o) {
      const auto [x, step] = operand(o, loop.steps[o], count, right_.data());
      const C same = *left;  // `left` may be `left_`
      for (std::int64_t i = 0; i < count; ++i) {
        const C one = left_step == 0 ? same : left[i * left_step];
        left_[static_cast<std::size_t>(i)] = times(one, x[i * step]);
      }
      left = left_.data();
      left_step = 1;
    }
    const auto [right, right_step] =
        operand(operands_ - 1, loop.steps[operands_ - 1], count, right_.data());
    return {left, left_step, right, right_step};
  }

  const Call& call_;
  const EinsumLoops& loops_;
  static constexpr std::size_t kFew = 4;
  std::size_t operands_;
  std::array<std::int64_t, 2 * kFew> few_;
  std::vector<std::int64_t> many_;      // for more operands
  std::span<std::int64_t> at_, first_;  // of each operand
  std::array<C, kEinsumColumns> acc_, left_, right_;
  C one_{1};
};

struct EinsumPlan {
  Equation e;
  EinsumLoops loops;

  static core::Result<EinsumPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(auto made, shape_inference::einsum_of(call));
    EinsumLoops loops(made);
    return EinsumPlan{std::move(made), std::move(loops)};
  }
  std::vector<TensorType> types() const { return {e.to}; }

  // Where each operand lies, at step `k` of an output.
  std::vector<std::int64_t> places(std::int64_t index, std::int64_t k) const {
    std::map<char, std::int64_t> at;
    const auto split = [&](const Labels& labels, std::int64_t position) {
      for (auto label = labels.rbegin(); label != labels.rend(); ++label) {
        at[*label] = position % e.dims.at(*label);
        position /= e.dims.at(*label);
      }
    };
    split(e.output, index);
    split(e.summed, k);
    std::vector<std::int64_t> made;
    for (std::size_t o = 0; o < e.operands.size(); ++o) {
      std::int64_t place = 0;
      for (std::size_t d = 0; d < e.operands[o].size(); ++d) {
        const std::int64_t dim = e.shapes[o][static_cast<int>(d)];
        place = place * dim + (dim == 1 ? 0 : at[e.operands[o][d]]);
      }
      made.push_back(place);
    }
    return made;
  }
  template <class T>
  Compute<T> chain(const Call& call, std::int64_t index, std::int64_t steps) const {
    using C = Compute<T>;
    C acc{0};
    for (std::int64_t k = 0; k < std::min(steps, e.depth()); ++k) {
      call.pulse(32);  // a map is filled
      const auto at = places(index, k);
      const auto x = [&](std::size_t o) {
        return load(paced<T>(call, static_cast<int>(o))[static_cast<std::size_t>(at[o])]);
      };
      C product = x(0);
      for (std::size_t o = 1; o + 1 < at.size(); ++o) product = times(product, x(o));
      acc = step(product, at.size() > 1 ? x(at.size() - 1) : C{1}, acc);
    }
    return acc;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Products{}, e.to.dtype, [&]<class T>() {
      return scalar_of(store<T>(add_bias(chain<T>(call, index, e.depth()), Compute<T>{0})));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Products{}, e.to.dtype, [&]<class T>() {
      std::int64_t index = 0;
      for (T& y : outputs[0].mutable_data<T>()) {
        y = store<T>(add_bias(chain<T>(call, index++, e.depth()), Compute<T>{0}));
      }
    });
  }
  // Neighbours of a row one beside the other, as far as there are; else one chain after another,
  // each along its last label.
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (e.to.shape.elements() == 0) return;
    const std::int64_t steps = std::max<std::int64_t>(e.depth(), 1) * kEinsumColumns;
    const std::int64_t pieces_a_task = std::max<std::int64_t>((1 << 14) / steps, 1);
    visit(Products{}, e.to.dtype, [&]<class T>() {
      T* const y = outputs[0].mutable_data<T>().data();
      in_pieces(call, threads, loops.pieces(), pieces_a_task,
                [&](const Call& own, std::int64_t from, std::int64_t to) {
                  EinsumRow<T> row(own, loops);
                  for (std::int64_t i = from; i < to; ++i) row.run(i, y);
                });
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t k = 0; k < e.depth(); ++k) {
      const auto at = places(index, k);
      for (std::size_t o = 0; o < at.size(); ++o) out.push_back({static_cast<int>(o), at[o]});
    }
  }
  std::int64_t steps(const Call&, int, std::int64_t) const { return e.depth(); }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Products{}, e.to.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(chain<T>(call, index, steps)));
    });
  }
};

}  // namespace

constinit const Judge kEinsum = judge_of<EinsumPlan>();

}  // namespace commensal::kernels::ref
