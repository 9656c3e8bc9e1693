// SPDX-License-Identifier: Apache-2.0
// MaxPool, AveragePool and the global ones. Taps are visited row-major; those in the padding are
// no steps at all, but keep their positions (and so their lanes) in a sum.
#include <commensal/compute/kernels/ref/fold_rows.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/pooling.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::ref {
namespace {

using shape_inference::Dims;
using MaxTypes = Types<float, double, Float16, Bfloat16, std::int8_t, std::uint8_t>;

constexpr std::int64_t kPieceTaps = 1 << 14, kOne = 1;  // of what a thread takes at a time

template <bool kGlobal>
struct AveragePlan : PoolPlan {
  static constexpr bool kPlainRows = true;

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
    fill(call, outputs[0], 0, outputs[0].elements());
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    in_pieces(call, threads, outputs[0].elements(), kPieceTaps / std::max(pool.window.taps(), kOne),
              [&](const Call& own, std::int64_t from, std::int64_t to) {
                fill(own, outputs[0], from, to);
              });
  }

 private:
  void fill(const Call& call, Tensor& output, std::int64_t from, std::int64_t to) const {
    visit(Floats{}, pool.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = output.mutable_data<T>();
      for (std::int64_t i = from; i < to; ++i) {
        call.pulse(8);
        y[static_cast<std::size_t>(i)] = value<T>(x, i);
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
    fill(call, outputs, 0, outputs[0].elements());
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    call.is_judged = !kGlobal || indices;
    const std::int64_t piece = kPieceTaps / std::max(pool.window.taps(), kOne);
    in_pieces(call, threads, outputs[0].elements(), piece,
              [&](const Call& own, std::int64_t from, std::int64_t to) {
                if (kGlobal && !indices) return fill_planes(own, outputs[0], from, to);
                fill(own, outputs, from, to);
              });
  }

 private:
  void fill(const Call& call, std::span<Tensor> outputs, std::int64_t from, std::int64_t to) const {
    visit(MaxTypes{}, pool.dtype, [&]<class T>() {
      const auto x = paced<T>(call, 0);
      const auto y = outputs[0].mutable_data<T>();
      for (std::int64_t i = from; i < to; ++i) {
        call.pulse(8);
        const auto best = fold<T>(x, i, kAllSteps);
        y[static_cast<std::size_t>(i)] = store<T>(best.value());
        if (!indices) continue;
        outputs[1].mutable_data<std::int64_t>()[static_cast<std::size_t>(i)] =
            stored_index(best.position());
      }
    });
  }
  // Where an output takes all of a plane.
  void fill_planes(const Call& call, Tensor& output, std::int64_t from, std::int64_t to) const {
    visit(MaxTypes{}, pool.dtype, [&]<class T>() {
      const std::int64_t plane = pool.window.in_elements();
      const T* x = call.in(0).data<T>().data() + from * plane;
      for (std::int64_t i = from; i < to; ++i, x += plane) {
        ExtremeRow<Compute<T>, true> best;
        for (std::int64_t k = 0; k < plane; k += kPieceTaps) {
          const std::int64_t count = std::min(kPieceTaps, plane - k);
          best.add(k, count, [at = x + k](std::int64_t j) { return load(at[j]); });
          call.pulse(count);
        }
        output.mutable_data<T>()[static_cast<std::size_t>(i)] = store<T>(best.result());
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
