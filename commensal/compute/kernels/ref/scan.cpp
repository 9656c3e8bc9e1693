// SPDX-License-Identifier: Apache-2.0
// CumSum: each element adds those before it (after it: reverse) in order, from the first one on.
#include <algorithm>
#include <array>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/ref/wide.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::ref {
namespace {

struct CumSumPlan {
  TensorType type;
  shape_inference::AxisView view;
  bool exclusive = false, reverse = false;

  static core::Result<CumSumPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Products>(call, 0));
    COMMENSAL_ASSIGN(const auto given, shape_inference::integer_list(call, 1));
    if (given.size() != 1) {
      return core::fail(core::ErrorCode::kInvalidArgument, "input 1 must be one axis");
    }
    CumSumPlan plan;
    plan.type = call.in(0).type();
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given[0], plan.type.shape.rank()));
    plan.view = shape_inference::AxisView(plan.type.shape, axis);
    COMMENSAL_ASSIGN(plan.exclusive, call.attributes->integer("exclusive", 0));
    COMMENSAL_ASSIGN(plan.reverse, call.attributes->integer("reverse", 0));
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  std::int64_t steps(const Call&, int, std::int64_t index) const {
    const std::int64_t along = view.along(index);
    return (reverse ? view.length - along : along + 1) - (exclusive ? 1 : 0);
  }
  // The element that step i of the sum for `index` adds.
  std::int64_t term(std::int64_t index, std::int64_t i) const {
    return view.position(view.outer(index), reverse ? view.length - 1 - i : i, view.inner(index));
  }
  template <class T>
  Compute<T> sum(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    Compute<T> acc{0};
    for (std::int64_t i = 0; i < steps; ++i) {
      acc = plus(acc, load(x[static_cast<std::size_t>(term(index, i))]));
    }
    return acc;
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Products{}, type.dtype, [&]<class T>() {
      return scalar_of(store<T>(sum(paced<T>(call, 0), index, steps(call, 0, index))));
    });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < steps(call, 0, index); ++i) out.push_back({0, term(index, i)});
    read_whole(call, 1, out);
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Products{}, type.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(sum(paced<T>(call, 0), index, steps)));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Products{}, type.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::int64_t start = 0; start < static_cast<std::int64_t>(y.size()); ++start) {
        call.pulse(4);
        if (view.along(start) != 0) continue;
        Compute<T> acc{0};
        for (std::int64_t i = 0; i < view.length; ++i) {
          const auto at = static_cast<std::size_t>(term(start, i));
          const Compute<T> before = acc;
          acc = plus(acc, load(x[at]));
          y[at] = store<T>(exclusive ? before : acc);
        }
      }
    });
  }
  // Neighbours across the axis at a time.
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    if (type.shape.elements() == 0) return;
    const std::int64_t inner = view.inner_size, pieces = (inner + kAcross - 1) / kAcross;
    const std::int64_t outer = type.shape.elements() / (view.length * inner);
    visit(Products{}, type.dtype, [&]<class T>() {
      const T* const x = call.in(0).data<T>().data();
      T* const y = outputs[0].mutable_data<T>().data();
      constexpr std::int64_t kTask = 1 << 16;
      const std::int64_t a_task =
          std::max<std::int64_t>(kTask / (view.length * std::min(inner, kAcross)), 1);
      threads.run((outer * pieces + a_task - 1) / a_task, [&](std::int64_t task) {
        const std::int64_t end = std::min(outer * pieces, (task + 1) * a_task);
        Pulse pulse(&threads);
        wide([&] {
          for (std::int64_t i = task * a_task; i < end; ++i) {
            const std::int64_t from = i % pieces * kAcross;
            const std::int64_t at = i / pieces * view.length * inner + from;
            columns(pulse, x + at, y + at, std::min(kAcross, inner - from));
          }
        });
      });
    });
  }

 private:
  static constexpr std::int64_t kAcross = 128, kBlock = 32;

  template <class T>
  void columns(Pulse& pulse, const T* x, T* y, std::int64_t count) const {
    std::array<Compute<T>, kAcross> acc;
    std::fill_n(acc.begin(), count, Compute<T>{0});
    for (std::int64_t i = 0; i < view.length; ++i) {
      const std::int64_t row = (reverse ? view.length - 1 - i : i) * view.inner_size;
      pulse(count);
      std::int64_t c = 0;
      for (; c + kBlock <= count; c += kBlock) {
        add_block(x + row + c, y + row + c, acc.data() + c);
      }
      for (; c < count; ++c) y[row + c] = added(x[row + c], acc[static_cast<std::size_t>(c)]);
    }
  }
  // Of a fixed length and by way of blocks that are nobody's, so that compilers make vectors of it.
  template <class T>
  void add_block(const T* x, T* y, Compute<T>* acc) const {
    std::array<Compute<T>, kBlock> before, after;
    std::array<T, kBlock> made;
    std::memcpy(before.data(), acc, sizeof before);
    for (std::size_t k = 0; k < kBlock; ++k) after[k] = plus(before[k], load(x[k]));
    std::memcpy(acc, after.data(), sizeof after);
    const Compute<T>* const kept = exclusive ? before.data() : after.data();
    for (std::size_t k = 0; k < kBlock; ++k) made[k] = store<T>(kept[k]);
    std::memcpy(y, made.data(), sizeof made);
  }
  template <class T>
  T added(T x, Compute<T>& sum) const {
    const Compute<T> before = sum;
    sum = plus(sum, load(x));
    return store<T>(exclusive ? before : sum);
  }
};

}  // namespace

constinit const Judge kCumSum = judge_of<CumSumPlan>();

}  // namespace commensal::kernels::ref
