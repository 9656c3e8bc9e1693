// SPDX-License-Identifier: Apache-2.0
// LRN: y = x / pow(bias + alpha / size * sum of squares, beta).
#include <algorithm>
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/normalise.hpp>

namespace commensal::kernels::ref {
namespace {

using Lane = math::ScalarLanes;

struct LrnPlan {
  shape_inference::Lrn lrn;

  static core::Result<LrnPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto lrn, shape_inference::lrn_of(call));
    return LrnPlan{lrn};
  }
  std::vector<TensorType> types() const { return {lrn.type}; }

  // Calls f(position in the window, input index) for the channels of the window that exist.
  template <class F>
  void for_window(std::int64_t index, F&& f) const {
    const std::int64_t channel = index / lrn.plane % lrn.channels;
    const std::int64_t first = std::max<std::int64_t>(channel - lrn.before, 0);
    const std::int64_t last = std::min(channel + lrn.after, lrn.channels - 1);
    for (std::int64_t c = first; c <= last; ++c) {
      f(c - (channel - lrn.before), index + (c - channel) * lrn.plane);
    }
  }
  template <class T>
  Sum<float> squares(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    Sum<float> sum(steps);
    for_window(index, [&](std::int64_t i, std::int64_t at) {
      const float one = load(x[static_cast<std::size_t>(at)]);
      sum.add(i, one * one);
    });
    return sum;
  }
  template <class T>
  T value(Paced<T> x, std::int64_t index) const {
    const float factor = lrn.alpha / static_cast<float>(lrn.size);
    const float base = std::fma(factor, squares(x, index, kAllSteps).total(), lrn.bias);
    return store<T>(load(x[static_cast<std::size_t>(index)]) / math::pow<Lane>(base, lrn.beta));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats32{}, lrn.type.dtype,
                 [&]<class T>() { return scalar_of(value(paced<T>(call, 0), index)); });
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    for_window(index, [&](std::int64_t, std::int64_t at) { out.push_back({0, at}); });
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    std::int64_t count = Sum<float>::kTreeSteps;
    for_window(index, [&](auto, auto) { ++count; });
    return count;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Floats32{}, lrn.type.dtype, [&]<class T>() {
      Sum<float> sum = squares(paced<T>(call, 0), index, steps);
      sum.total();
      return scalar_of(store<float>(sum.last()));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats32{}, lrn.type.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = value(x, static_cast<std::int64_t>(i));
    });
  }
};

}  // namespace

constinit const Judge kLrn = judge_of<LrnPlan>();

}  // namespace commensal::kernels::ref
