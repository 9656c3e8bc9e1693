// SPDX-License-Identifier: Apache-2.0
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. The loss of a place is w * -l, where l is
// the log-likelihood of its target and w the target's weight (without weights, -l); a place whose
// target is `ignore_index` has none. Summed in lanes over the places, row-major; the mean divides
// by the sum of the weights (without weights, by the count) of the places that are not ignored.
#include <commensal/compute/kernels/math/scalar.hpp>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <optional>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::AxisView;
using Lane = math::ScalarLanes;
using Targets = Types<std::int32_t, std::int64_t>;

enum class Reduction { kNone, kMean, kSum };

core::Result<Reduction> reduction_of(const Call& call) {
  constexpr std::pair<std::string_view, Reduction> kNames[] = {
      {"none", Reduction::kNone}, {"mean", Reduction::kMean}, {"sum", Reduction::kSum}};
  COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("reduction", "mean"));
  for (const auto& [name, reduction] : kNames) {
    if (name == asked) return reduction;
  }
  return fail(ErrorCode::kInvalidArgument, "attribute 'reduction' is '{}'", asked);
}

constexpr std::int64_t kIgnored = -1;

// The targets, kIgnored where they are not to count.
core::Result<std::vector<std::int64_t>> classes_of(const Call& call, std::int64_t classes) {
  COMMENSAL_TRY(shape_inference::check_dtype<Targets>(call, 1));
  std::optional<std::int64_t> ignored;
  if (call.attributes->has("ignore_index")) {
    COMMENSAL_ASSIGN(ignored, call.attributes->integer("ignore_index", 0));
  }
  std::vector<std::int64_t> made;
  visit(Targets{}, call.in(1).dtype(), [&]<class I>() {
    const auto targets = paced<I>(call, 1);
    made.assign(targets.begin(), targets.end());
  });
  for (std::int64_t& target : made) {
    if (target == ignored) {
      target = kIgnored;
    } else if (target < 0 || target >= classes) {
      return fail(ErrorCode::kInvalidArgument, "target {} is none of {} classes", target, classes);
    }
  }
  return made;
}

// What the elements along the classes of one place share.
struct LogSum {
  float largest = 0, log = 0;
  float last = 0;  // result of the last step
};

template <bool kSoftmax>
struct LossPlan {
  using In = std::conditional_t<kSoftmax, Floats32, Floats>;

  TensorType type;  // of input 0: [N, C, D...]
  Shape places;     // [N, D...]
  AxisView view;
  Reduction reduction = Reduction::kMean;
  std::vector<std::int64_t> classes;
  bool gives_log = false;

  static core::Result<LossPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    LossPlan plan;
    plan.type = call.in(0).type();
    const Shape& x = plan.type.shape;
    if (x.rank() < 2) return fail(ErrorCode::kInvalidArgument, "input 0 must be [N, C, ...]");
    std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
    dims.erase(dims.begin() + 1);
    COMMENSAL_ASSIGN(plan.places, Shape::of(dims));
    if (call.in(1).shape() != plan.places) {
      return fail(ErrorCode::kInvalidArgument, "input 1 must be {}, not {}", plan.places.text(),
                  call.in(1).shape().text());
    }
    if (call.has(2) && call.in(2).shape() != Shape{x[1]}) {
      return fail(ErrorCode::kInvalidArgument, "input 2 must be [{}], not {}", x[1],
                  call.in(2).shape().text());
    }
    plan.view = AxisView(x, 1);
    COMMENSAL_ASSIGN(plan.reduction, reduction_of(call));
    COMMENSAL_ASSIGN(plan.classes, classes_of(call, x[1]));
    plan.gives_log = call.output_count > 1;
    return plan;
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> made = {{type.dtype, reduction == Reduction::kNone ? places : Shape{}}};
    if (gives_log) made.push_back(type);
    return made;
  }

  // Where element `along` of the classes of a place lies.
  std::int64_t at(std::int64_t place, std::int64_t along) const {
    return view.position(place / view.inner_size, along, place % view.inner_size);
  }
  std::int64_t place_of(std::int64_t index) const {
    return view.outer(index) * view.inner_size + view.inner(index);
  }
  bool counts(std::int64_t place) const { return class_of(place) != kIgnored; }
  std::int64_t class_of(std::int64_t place) const {
    return classes[static_cast<std::size_t>(place)];
  }

  // Steps as those of LogSoftmax: the running maximum, then the sum.
  template <class T>
  LogSum log_sum(Paced<T> x, std::int64_t place, std::int64_t steps) const {
    const auto value = [&](std::int64_t i) {
      return load(x[static_cast<std::size_t>(at(place, i))]);
    };
    Extreme<float, true> largest(steps);
    for (std::int64_t i = 0; i < view.length; ++i) largest.add(i, value(i));
    LogSum made{largest.value(), 0, largest.value()};
    if (steps <= view.length) return made;
    Sum<float> sum(steps == kAllSteps ? kAllSteps : steps - view.length);
    for (std::int64_t i = 0; i < view.length; ++i) {
      sum.add(i, math::exp<Lane>(value(i) - made.largest));
    }
    made.log = math::log<Lane>(sum.total());
    made.last = sum.last();
    return made;
  }
  // The log-likelihood of a class at a place.
  template <class T>
  Compute<T> likelihood(Paced<T> x, std::int64_t place, std::int64_t along) const {
    if constexpr (kSoftmax) {
      return likelihood(x, place, along, log_sum(x, place, kAllSteps));
    } else {
      return load(x[static_cast<std::size_t>(at(place, along))]);
    }
  }
  template <class T>
  float likelihood(Paced<T> x, std::int64_t place, std::int64_t along, const LogSum& row) const {
    return (load(x[static_cast<std::size_t>(at(place, along))]) - row.largest) - row.log;
  }
  template <class T>
  Compute<T> weight(const Call& call, std::int64_t place) const {
    if (!call.has(2)) return 1;
    return load(paced<T>(call, 2)[static_cast<std::size_t>(class_of(place))]);
  }
  template <class T>
  Compute<T> loss(const Call& call, std::int64_t place) const {
    if (!counts(place)) return 0;
    const Compute<T> value = -likelihood(paced<T>(call, 0), place, class_of(place));
    return call.has(2) ? weight<T>(call, place) * value : value;
  }

  // First the sum of the losses, then, for a weighted mean, that of the weights.
  template <class T>
  Sum<Compute<T>> total(const Call& call, bool of_weights, std::int64_t steps) const {
    Sum<Compute<T>> sum(steps);
    for (std::int64_t p = 0; p < places.elements(); ++p) {
      if (counts(p)) sum.add(p, of_weights ? weight<T>(call, p) : loss<T>(call, p));
    }
    return sum;
  }
  std::int64_t counted() const {
    std::int64_t count = 0;
    for (std::int64_t p = 0; p < places.elements(); ++p) count += counts(p) ? 1 : 0;
    return count;
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    if (reduction == Reduction::kNone) return store<T>(loss<T>(call, index));
    const Compute<T> sum = total<T>(call, false, kAllSteps).total();
    if (reduction == Reduction::kSum) return store<T>(sum);
    // Without weights a sum of ones would round above 2^24: the count is exact.
    const auto divisor =
        call.has(2) ? total<T>(call, true, kAllSteps).total() : static_cast<Compute<T>>(counted());
    return store<T>(sum / divisor);
  }
  template <class T>
  T log_value(const Call& call, std::int64_t index) const {
    return store<T>(likelihood(paced<T>(call, 0), place_of(index), view.along(index)));
  }

  Scalar element(const Call& call, int output, std::int64_t index) const {
    return visit(In{}, type.dtype, [&]<class T>() {
      return scalar_of(output == 0 ? value<T>(call, index) : log_value<T>(call, index));
    });
  }
  void read_place(const Call& call, std::int64_t place, std::vector<ElementRef>& out) const {
    out.push_back({1, place});
    if (!counts(place)) return;
    if (call.has(2)) out.push_back({2, class_of(place)});
    for (std::int64_t i = 0; i < view.length; ++i) {
      if (kSoftmax || i == class_of(place)) out.push_back({0, at(place, i)});
    }
  }
  void reads(const Call& call, int output, std::int64_t index, std::vector<ElementRef>& out) const {
    if (output == 1) {
      const std::int64_t place = place_of(index);
      for (std::int64_t i = 0; i < view.length; ++i) out.push_back({0, at(place, i)});
    } else if (reduction == Reduction::kNone) {
      read_place(call, index, out);
    } else {
      for (std::int64_t p = 0; p < places.elements(); ++p) read_place(call, p, out);
    }
  }

  bool folds_classes(int output) const {
    return kSoftmax && (output == 1 || reduction == Reduction::kNone);
  }
  std::int64_t steps(const Call& call, int output, std::int64_t) const {
    if (folds_classes(output)) return 2 * view.length + Sum<float>::kTreeSteps;
    if (reduction == Reduction::kNone) return 0;
    const std::int64_t sums = reduction == Reduction::kMean && call.has(2) ? 2 : 1;
    return sums * (counted() + Sum<float>::kTreeSteps);
  }
  Scalar partial(const Call& call, int output, std::int64_t index, std::int64_t steps) const {
    return visit(In{}, type.dtype, [&]<class T>() {
      using C = Compute<T>;
      if constexpr (kSoftmax) {
        if (folds_classes(output)) {
          const std::int64_t place = output == 1 ? place_of(index) : index;
          return scalar_of(store<C>(log_sum(paced<T>(call, 0), place, steps).last));
        }
      }
      if (reduction == Reduction::kNone) return scalar_of(C{0});
      const std::int64_t first = counted() + Sum<C>::kTreeSteps;
      auto sum = total<T>(call, steps > first, steps > first ? steps - first : steps);
      sum.total();
      return scalar_of(store<C>(sum.last()));
    });
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(In{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
      if constexpr (kSoftmax) {
        for (std::int64_t p = 0; gives_log && p < places.elements(); ++p) {
          const auto x = paced<T>(call, 0);
          const LogSum row = log_sum(x, p, kAllSteps);
          for (std::int64_t i = 0; i < view.length; ++i) {
            const T one = store<T>(likelihood(x, p, i, row));
            outputs[1].mutable_data<T>()[static_cast<std::size_t>(at(p, i))] = one;
          }
        }
      }
    });
  }
};

}  // namespace

constinit const Judge kNegativeLogLikelihoodLoss = judge_of<LossPlan<false>>();
constinit const Judge kSoftmaxCrossEntropyLoss = judge_of<LossPlan<true>>();

}  // namespace commensal::kernels::ref
