// SPDX-License-Identifier: Apache-2.0
// Softmax: exp(x - m) / sum, m the row's maximum, the sum in lanes over exp(x - m).
// LogSoftmax: (x - m) - log(sum). Hardmax: 1 at the first maximum.
#include <commensal/compute/kernels/math/functions.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/softmax.hpp>

namespace commensal::kernels::ref {
namespace {

enum class Form { kSoftmax, kLogSoftmax, kHardmax };

// What the elements of a row share. The reduction has two parts: the maximum, one step for each
// element, and the sum.
template <class C>
struct RowFacts {
  C largest = 0, sum = 0;
  std::int64_t first_largest = 0;
  C last = 0;  // of the steps that were asked for
};

template <Form kForm>
struct SoftmaxPlan {
  shape_inference::Softmax s;

  static core::Result<SoftmaxPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto softmax, shape_inference::softmax_of(call));
    return SoftmaxPlan{softmax};
  }
  std::vector<TensorType> types() const { return {s.type}; }

  // Position of element `i` of the row that holds `index`.
  std::int64_t in_row(std::int64_t index, std::int64_t i) const {
    return s.view.position(s.view.outer(index), i, s.view.inner(index));
  }
  template <class T>
  RowFacts<Compute<T>> facts(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    const auto at = [&](std::int64_t i) {
      return load(x[static_cast<std::size_t>(in_row(index, i))]);
    };
    const std::int64_t length = s.view.length;
    using C = Compute<T>;
    Extreme<C, true> largest(steps);
    for (std::int64_t i = 0; i < length; ++i) largest.add(i, at(i));
    RowFacts<C> row{largest.value(), 0, largest.position(), largest.value()};
    if (kForm == Form::kHardmax || steps <= length) return row;
    Sum<C> sum(steps == kAllSteps ? kAllSteps : steps - length);
    for (std::int64_t i = 0; i < length; ++i) sum.add(i, math::by_type::exp(at(i) - row.largest));
    row.sum = sum.total();
    row.last = sum.last();
    return row;
  }
  template <class T>
  T finish(T x, const RowFacts<Compute<T>>& row, std::int64_t along) const {
    if constexpr (kForm == Form::kHardmax) {
      return store<T>(Compute<T>{along == row.first_largest ? 1.0f : 0.0f});
    } else if constexpr (kForm == Form::kSoftmax) {
      return store<T>(math::by_type::exp(load(x) - row.largest) / row.sum);
    } else {
      return store<T>((load(x) - row.largest) - math::by_type::log(row.sum));
    }
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, s.type.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto row = facts(x, index, kAllSteps);
      return scalar_of(finish(x[static_cast<std::size_t>(index)], row, s.view.along(index)));
    });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for (std::int64_t i = 0; i < s.view.length; ++i) out.push_back({0, in_row(index, i)});
  }
  std::int64_t steps(const Call&, int, std::int64_t) const {
    if constexpr (kForm == Form::kHardmax) return s.view.length;
    return 2 * s.view.length + Sum<float>::kTreeSteps;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Floats{}, s.type.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(facts(paced<T>(call, 0), index, steps).last));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, s.type.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
        call.pulse(4);
        if (s.view.along(i) != 0) continue;
        const auto row = facts(x, i, kAllSteps);
        for (std::int64_t j = 0; j < s.view.length; ++j) {
          const auto at = static_cast<std::size_t>(in_row(i, j));
          y[at] = finish(x[at], row, j);
        }
      }
    });
  }
};

}  // namespace

constinit const Judge kHardmax = judge_of<SoftmaxPlan<Form::kHardmax>>();
constinit const Judge kLogSoftmax = judge_of<SoftmaxPlan<Form::kLogSoftmax>>();
constinit const Judge kSoftmax = judge_of<SoftmaxPlan<Form::kSoftmax>>();

}  // namespace commensal::kernels::ref
