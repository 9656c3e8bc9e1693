// SPDX-License-Identifier: Apache-2.0
// RMSNormalization: over each group of n elements, summed in lanes,
//   r = 1 / sqrt(sum(x * x) / n + epsilon), y = (x * r) * scale.
// MeanVarianceNormalization: y = (x - mean) / (sqrt(variance) + 1e-9).
// LpNormalization: y = x / norm.
#include <algorithm>
#include <commensal/compute/kernels/ref/folding.hpp>
#include <commensal/compute/kernels/ref/grouped.hpp>
#include <commensal/compute/kernels/shape_inference/broadcast.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

// One sum and what becomes of it.
template <class C>
struct Scale {
  C value{0}, last{0};
};

struct RmsNorm {
  using In = Floats32;
  DType dtype = DType::kUndefined;
  std::int64_t groups = 0, count = 1;
  TensorType type;
  shape_inference::Broadcast broadcast;  // of the scale over X
  float epsilon = 1e-5f;

  static core::Result<RmsNorm> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 1));
    RmsNorm op;
    op.dtype = call.in(0).dtype();
    const Shape& x = call.in(0).shape();
    op.type = {call.in(1).dtype(), x};
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, x.rank()));
    COMMENSAL_ASSIGN(const std::int64_t stash, call.attributes->integer("stash_type", 1));
    if (stash != 1) return fail(ErrorCode::kUnsupported, "attribute 'stash_type' other than 1");
    op.count = x.elements(axis, x.rank());
    if (op.count == 0) {
      return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", x.text());
    }
    op.groups = x.elements() / op.count;
    COMMENSAL_ASSIGN(op.broadcast, shape_inference::Broadcast::of(call));
    if (op.broadcast.shape() != x || call.in(1).shape().rank() > x.rank() - axis) {
      return fail(ErrorCode::kInvalidArgument, "scale {} does not broadcast to the last {} of {}",
                  call.in(1).shape().text(), x.rank() - axis, x.text());
    }
    COMMENSAL_ASSIGN(op.epsilon, call.attributes->real("epsilon", 1e-5f));
    return op;
  }
  std::vector<TensorType> types() const { return {type}; }
  std::int64_t member(std::int64_t group, std::int64_t i) const { return group * count + i; }
  std::int64_t group_of(int, std::int64_t index) const { return index / count; }

  template <class C, class At>
  Scale<C> facts(At at, std::int64_t steps) const {
    Sum<C> sum(steps);
    for (std::int64_t i = 0; i < count; ++i) sum.add(i, at(i) * at(i));
    const C mean = sum.total() / static_cast<C>(count);
    return {C{1} / std::sqrt(mean + epsilon), sum.last()};
  }
  std::int64_t steps() const { return count + Sum<float>::kTreeSteps; }
  template <class T, class F>
  Scalar value(const Call& call, const F& made, int, std::int64_t index) const {
    const float x = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]) * made.value;
    return visit(In{}, type.dtype, [&]<class V>() {
      const auto at = static_cast<std::size_t>(broadcast.source(1, index));
      return scalar_of(store<V>(x * load(paced<V>(call, 1)[at])));
    });
  }
  void more_reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({1, broadcast.source(1, index)});
  }
};

struct MeanVariance {
  using In = Floats;
  DType dtype = DType::kUndefined;
  std::int64_t groups = 0, count = 1;
  Shape shape;
  Folding folding;

  static core::Result<MeanVariance> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    MeanVariance op;
    op.dtype = call.in(0).dtype();
    op.shape = call.in(0).shape();
    COMMENSAL_ASSIGN(auto axes, call.attributes->integers("axes", {0, 2, 3}));
    COMMENSAL_ASSIGN(op.folding, Folding::of(call, axes, true, true));
    op.groups = op.folding.kept.elements();
    op.count = op.folding.count();
    if (op.count == 0) {
      return fail(ErrorCode::kInvalidArgument, "{} has nothing to normalise", op.shape.text());
    }
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, shape}}; }
  std::int64_t member(std::int64_t group, std::int64_t i) const {
    shape_inference::Dims at = shape_inference::split(folding.folded, i);
    const shape_inference::Dims base = shape_inference::split(folding.kept, group);
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += base[d];
    return shape_inference::join(shape, at);
  }
  std::int64_t group_of(int, std::int64_t index) const {
    shape_inference::Dims at = shape_inference::split(shape, index);
    for (int d = 0; d < shape.rank(); ++d) {
      if (folding.kept[d] == 1) at[static_cast<std::size_t>(d)] = 0;
    }
    return shape_inference::join(folding.kept, at);
  }

  template <class C, class At>
  Moments<C> facts(At at, std::int64_t steps) const {
    return Moments<C>::of(count, at, steps);
  }
  std::int64_t steps() const { return Moments<float>::steps(count); }
  template <class T, class F>
  Scalar value(const Call& call, const F& made, int, std::int64_t index) const {
    using C = Compute<T>;
    const C d = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]) - made.mean;
    return scalar_of(store<T>(d / (std::sqrt(made.variance) + static_cast<C>(1e-9f))));
  }
  void more_reads(const Call&, int, std::int64_t, std::vector<ElementRef>&) const {}
};

struct LpNorm {
  using In = Floats;
  DType dtype = DType::kUndefined;
  std::int64_t groups = 0, count = 1;
  Shape shape;
  shape_inference::AxisView view;
  bool squares = true;

  static core::Result<LpNorm> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    LpNorm op;
    op.dtype = call.in(0).dtype();
    op.shape = call.in(0).shape();
    COMMENSAL_ASSIGN(const std::int64_t given, call.attributes->integer("axis", -1));
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(given, op.shape.rank()));
    COMMENSAL_ASSIGN(const std::int64_t p, call.attributes->integer("p", 2));
    if (p != 1 && p != 2) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'p' must be 1 or 2, not {}", p);
    }
    op.squares = p == 2;
    op.view = shape_inference::AxisView(op.shape, axis);
    op.count = op.view.length;
    op.groups = op.shape.elements() / std::max<std::int64_t>(op.count, 1);
    return op;
  }
  std::vector<TensorType> types() const { return {{dtype, shape}}; }
  std::int64_t member(std::int64_t group, std::int64_t i) const {
    return view.position(group / view.inner_size, i, group % view.inner_size);
  }
  std::int64_t group_of(int, std::int64_t index) const {
    return view.outer(index) * view.inner_size + view.inner(index);
  }

  template <class C, class At>
  Scale<C> facts(At at, std::int64_t steps) const {
    Sum<C> sum(steps);
    for (std::int64_t i = 0; i < count; ++i) {
      sum.add(i, squares ? at(i) * at(i) : std::abs(at(i)));
    }
    const C total = sum.total();
    return {squares ? std::sqrt(total) : total, sum.last()};
  }
  std::int64_t steps() const { return count + Sum<float>::kTreeSteps; }
  template <class T, class F>
  Scalar value(const Call& call, const F& made, int, std::int64_t index) const {
    using C = Compute<T>;
    const C x = load(paced<T>(call, 0)[static_cast<std::size_t>(index)]);
    return scalar_of(store<T>(x / made.value));
  }
  void more_reads(const Call&, int, std::int64_t, std::vector<ElementRef>&) const {}
};

}  // namespace

constinit const Judge kLpNormalization = grouped<LpNorm>();
constinit const Judge kMeanVarianceNormalization = grouped<MeanVariance>();
constinit const Judge kRmsNormalization = grouped<RmsNorm>();

}  // namespace commensal::kernels::ref
