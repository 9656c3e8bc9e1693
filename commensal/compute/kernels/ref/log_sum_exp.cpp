// SPDX-License-Identifier: Apache-2.0
// ReduceLogSumExp: m + log(sum of exp(x - m)), m the maximum, or +0 where that is infinite.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/folding.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>

namespace commensal::kernels::ref {
namespace {

struct LogSumExpPlan {
  Folding folding;
  DType dtype = DType::kUndefined;

  static core::Result<LogSumExpPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_ASSIGN(const auto axes, shape_inference::list_from(call, "axes", 1, 18));
    COMMENSAL_ASSIGN(const std::int64_t keep, call.attributes->integer("keepdims", 1));
    COMMENSAL_ASSIGN(const std::int64_t noop, call.attributes->integer("noop_with_empty_axes", 0));
    COMMENSAL_ASSIGN(const Folding folding, Folding::of(call, axes, keep != 0, noop != 0));
    return LogSumExpPlan{folding, call.in(0).dtype()};
  }
  std::vector<TensorType> types() const { return {{dtype, folding.to}}; }

  template <class C>
  struct Facts {
    C shift = 0, sum = 0;
    C last = 0;  // result of the last step
  };
  // The running maximum, one step for each element, then the sum.
  template <class T>
  Facts<Compute<T>> facts(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    using C = Compute<T>;
    Extreme<C, true> largest(steps);
    folding.for_each(index, [&](std::int64_t i, std::int64_t at) {
      largest.add(i, load(x[static_cast<std::size_t>(at)]));
    });
    Facts<C> made{largest.value(), 0, largest.value()};
    if (std::isinf(made.shift)) made.shift = 0;
    if (steps <= folding.count()) return made;
    Sum<C> sum(steps == kAllSteps ? kAllSteps : steps - folding.count());
    folding.for_each(index, [&](std::int64_t i, std::int64_t at) {
      sum.add(i, math::by_type::exp(load(x[static_cast<std::size_t>(at)]) - made.shift));
    });
    made.sum = sum.total();
    made.last = sum.last();
    return made;
  }
  template <class T>
  T value(Paced<T> x, std::int64_t index) const {
    if (folding.identity) return x[static_cast<std::size_t>(index)];
    const auto made = facts(x, index, kAllSteps);
    return store<T>(made.shift + math::by_type::log(made.sum));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, dtype,
                 [&]<class T>() { return scalar_of(value<T>(paced<T>(call, 0), index)); });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    folding.for_each(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
    read_whole(call, 1, out);
  }
  std::int64_t steps(const Call&, int, std::int64_t) const {
    return folding.identity ? 0 : 2 * folding.count() + Sum<float>::kTreeSteps;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Floats{}, dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(facts(paced<T>(call, 0), index, steps).last));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value<T>(x, static_cast<std::int64_t>(i));
    });
  }
};

}  // namespace

constinit const Judge kReduceLogSumExp = judge_of<LogSumExpPlan>();

}  // namespace commensal::kernels::ref
