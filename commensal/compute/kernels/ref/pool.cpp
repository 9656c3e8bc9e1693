// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and the global ones. Taps are visited row-major; those in the padding are
// no steps at all, but keep their positions (and so their lanes) in a sum.
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/pooling.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using shape_inference::Dims;
using MaxTypes = Types<float, double, Float16, Bfloat16, std::int8_t, std::uint8_t>;

template <bool kGlobal>
struct AveragePlan : PoolPlan {
  static core::Result<AveragePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Floats>(call, 0));
    COMMENSAL_ASSIGN(const auto pool, kGlobal ? shape_inference::global_pool_of(call)
                                              : shape_inference::pool_of(call));
    return AveragePlan{{pool}};
  }
  std::vector<TensorType> types() const { return {{pool.dtype, pool.shape}}; }

  template <class T>
  T value(Paced<T> x, std::int64_t index) const {
    Sum<Compute<T>> sum;
    for_taps(index, [&](std::int64_t tap, std::int64_t at) {
      sum.add(tap, load(x[static_cast<std::size_t>(at)]));
    });
    const shape_inference::Window& w = pool.window;
    const std::int64_t count = pool.divisor(w.split(index % w.out_elements(), w.out));
    return store<T>(sum.total() / static_cast<Compute<T>>(count));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats{}, pool.dtype,
                 [&]<class T>() { return scalar_of(value<T>(paced<T>(call, 0), index)); });
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    return taps_inside(index) + Sum<float>::kTreeSteps;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(Floats{}, pool.dtype, [&]<class T>() {
      Sum<Compute<T>> sum(steps);
      const auto x = paced<T>(call, 0);
      for_taps(index, [&](std::int64_t tap, std::int64_t at) {
        sum.add(tap, load(x[static_cast<std::size_t>(at)]));
      });
      sum.total();
      return scalar_of(store<Compute<T>>(sum.last()));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats{}, pool.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(8);
        y[i] = value<T>(x, static_cast<std::int64_t>(i));
      }
    });
  }
};

template <bool kGlobal>
struct MaxPlan : PoolPlan {
  bool indices = false;

  static core::Result<MaxPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<MaxTypes>(call, 0));
    COMMENSAL_ASSIGN(const auto pool, kGlobal ? shape_inference::global_pool_of(call)
                                              : shape_inference::pool_of(call));
    return MaxPlan{{pool}, call.output_count > 1};
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {{pool.dtype, pool.shape}};
    if (indices) made.push_back({DType::kInt64, pool.shape});
    return made;
  }

  template <class T>
  Extreme<Compute<T>, true> fold(Paced<T> x, std::int64_t index, std::int64_t steps) const {
    Extreme<Compute<T>, true> best(steps);
    for_taps(index, [&](std::int64_t, std::int64_t at) {
      best.add(at, load(x[static_cast<std::size_t>(at)]));
    });
    return best;
  }
  // Index of the input element within all of X; for storage_order 1 its spatial part column-major.
  std::int64_t stored_index(std::int64_t position) const {
    const shape_inference::Window& w = pool.window;
    if (!pool.column_major || position < 0) return position;
    const std::int64_t plane = position / w.in_elements();
    const Dims at = w.split(position % w.in_elements(), w.in);
    std::int64_t offset = 0;
    for (int d = w.rank - 1; d >= 0; --d) {
      offset = offset * w.in[static_cast<std::size_t>(d)] + at[static_cast<std::size_t>(d)];
    }
    return plane * w.in_elements() + offset;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(MaxTypes{}, pool.dtype, [&]<class T>() {
      const auto best = fold<T>(paced<T>(call, 0), index, kAllSteps);
      if (output == 1) return scalar_of(stored_index(best.position()));
      return scalar_of(store<T>(best.value()));
    });
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const { return taps_inside(index); }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return visit(MaxTypes{}, pool.dtype, [&]<class T>() {
      return scalar_of(store<Compute<T>>(fold<T>(paced<T>(call, 0), index, steps).value()));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(MaxTypes{}, pool.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(8);
        const auto best = fold<T>(x, static_cast<std::int64_t>(i), kAllSteps);
        y[i] = store<T>(best.value());
        if (indices) outputs[1].mutable_data<std::int64_t>()[i] = stored_index(best.position());
      }
    });
  }
};

}  // namespace

constinit const Judge kAveragePool = judge_of<AveragePlan<false>>();
constinit const Judge kGlobalAveragePool = judge_of<AveragePlan<true>>();
constinit const Judge kGlobalMaxPool = judge_of<MaxPlan<true>>();
constinit const Judge kMaxPool = judge_of<MaxPlan<false>>();

}  // namespace commensal::kernels::ref
