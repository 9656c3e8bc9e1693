// SPDX-License-Identifier: Apache-2.0
// Scaler, Normalizer, Imputer, Binarizer, FeatureVectorizer: features made ready, one by one or
// row by row.
#include <algorithm>
#include <commensal/compute/kernels/ref/fold.hpp>
#include <commensal/compute/kernels/ref/ml.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

// An attribute with one entry per feature, or one for all.
template <class T>
core::Result<void> check_per_feature(const std::vector<T>& values, const char* name,
                                     std::int64_t features) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count == 1 || count == features) return {};
  return fail(ErrorCode::kInvalidArgument, "attribute '{}' must have 1 or {} entries, not {}", name,
              features, count);
}
template <class T>
T per_feature(const std::vector<T>& values, std::int64_t feature) {
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(feature)];
}

std::int64_t last_dim(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
}

// Output element i is a function of input element i. Op:
//   using In = Types<...>;
//   static core::Result<Op> make(const Call&, std::int64_t features);
//   static DType dtype(DType in);
//   void put(const Call&, std::int64_t index, std::int64_t feature, void* to) const;
template <class Op>
struct FeaturePlan {
  Op op;
  TensorType type;
  std::int64_t features = 0;

  static core::Result<FeaturePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<ml::Numbers>(call, 0));
    const Shape& shape = call.in(0).shape();
    COMMENSAL_ASSIGN(auto op, Op::make(call, last_dim(shape)));
    return FeaturePlan{std::move(op), {Op::dtype(call.in(0).dtype()), shape}, last_dim(shape)};
  }
  std::vector<TensorType> types() const { return {type}; }
  Scalar element(const Call& call, int, std::int64_t index) const {
    Scalar made{type.dtype, 0};
    op.put(call, index, index % features, &made.bits);
    return made;
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    out.push_back({0, index});
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
    std::uint8_t* to = outputs[0].mutable_bytes().data();
    for (std::int64_t i = 0; i < type.shape.elements(); ++i, to += size) {
      op.put(call, i, i % features, to);
    }
  }
};

template <class T>
void put_value(T value, void* to) {
  std::memcpy(to, &value, sizeof value);
}

struct Scaler {
  std::vector<float> offset, scale;

  static core::Result<Scaler> make(const Call& call, std::int64_t features) {
    Scaler op;
    COMMENSAL_ASSIGN(op.offset, call.attributes->reals("offset", {0.0f}));
    COMMENSAL_ASSIGN(op.scale, call.attributes->reals("scale", {1.0f}));
    COMMENSAL_TRY(check_per_feature(op.offset, "offset", features));
    COMMENSAL_TRY(check_per_feature(op.scale, "scale", features));
    return op;
  }
  static DType dtype(DType) { return DType::kFloat32; }
  void put(const Call& call, std::int64_t index, std::int64_t feature, void* to) const {
    const float low = per_feature(offset, feature), by = per_feature(scale, feature);
    if (call.in(0).dtype() == DType::kFloat64) {
      const double scaled =
          (ml::wide_at(call, index) - static_cast<double>(low)) * static_cast<double>(by);
      put_value(store<float>(static_cast<float>(scaled)), to);
    } else {
      put_value(store<float>((ml::narrow_at(call, index) - low) * by), to);
    }
  }
};

struct Imputer {
  std::vector<float> reals;
  std::vector<std::int64_t> integers;
  float replaced_real = 0;
  std::int64_t replaced_integer = 0;

  static core::Result<Imputer> make(const Call& call, std::int64_t features) {
    Imputer op;
    const DType dtype = call.in(0).dtype();
    if (dtype == DType::kFloat32 || dtype == DType::kFloat64) {
      COMMENSAL_ASSIGN(op.reals, call.attributes->reals("imputed_value_floats"));
      COMMENSAL_ASSIGN(op.replaced_real, call.attributes->real("replaced_value_float", 0.0f));
      COMMENSAL_TRY(check_per_feature(op.reals, "imputed_value_floats", features));
      return op;
    }
    COMMENSAL_ASSIGN(op.integers, call.attributes->integers("imputed_value_int64s"));
    COMMENSAL_ASSIGN(op.replaced_integer, call.attributes->integer("replaced_value_int64", 0));
    COMMENSAL_TRY(check_per_feature(op.integers, "imputed_value_int64s", features));
    for (const std::int64_t value : op.integers) {
      if (dtype == DType::kInt32 && value != static_cast<std::int32_t>(value)) {
        return fail(ErrorCode::kInvalidArgument,
                    "attribute 'imputed_value_int64s' has {}, which is no int32", value);
      }
    }
    return op;
  }
  static DType dtype(DType in) { return in; }
  void put(const Call& call, std::int64_t index, std::int64_t feature, void* to) const {
    visit(ml::Numbers{}, call.in(0).dtype(), [&]<class T>() {
      const T x = paced<T>(call, 0)[static_cast<std::size_t>(index)];
      if constexpr (std::is_floating_point_v<T>) {
        const T replaced = static_cast<T>(replaced_real);
        const bool is_missing = x == replaced || (x != x && replaced != replaced);
        put_value(is_missing ? static_cast<T>(per_feature(reals, feature)) : x, to);
      } else {
        const bool is_missing = static_cast<std::int64_t>(x) == replaced_integer;
        put_value(is_missing ? static_cast<T>(per_feature(integers, feature)) : x, to);
      }
    });
  }
};

struct Binarizer {
  float threshold = 0;

  static core::Result<Binarizer> make(const Call& call, std::int64_t) {
    COMMENSAL_ASSIGN(const float threshold, call.attributes->real("threshold", 0.0f));
    return Binarizer{threshold};
  }
  static DType dtype(DType in) { return in; }
  void put(const Call& call, std::int64_t index, std::int64_t, void* to) const {
    visit(ml::Numbers{}, call.in(0).dtype(), [&]<class T>() {
      const bool above = ml::wide_at(call, index) > static_cast<double>(threshold);
      put_value(static_cast<T>(above ? 1 : 0), to);
    });
  }
};

enum class Norm { kMax, kL1, kL2 };

// Along a row: x / max(x), x / sum(abs(x)), x / sqrt(sum(x * x)); a divisor of zero leaves x.
struct NormalizerPlan {
  ml::Rows rows;
  Shape shape;
  Norm norm = Norm::kMax;
  bool wide = false;

  static core::Result<NormalizerPlan> make(const Call& call) {
    constexpr std::pair<std::string_view, Norm> kNames[] = {
        {"MAX", Norm::kMax}, {"L1", Norm::kL1}, {"L2", Norm::kL2}};
    COMMENSAL_TRY(shape_inference::check_dtype<ml::Numbers>(call, 0));
    COMMENSAL_ASSIGN(const ml::Rows rows, ml::Rows::of(call));
    COMMENSAL_ASSIGN(const std::string asked, call.attributes->text("norm", "MAX"));
    for (const auto& [name, norm] : kNames) {
      if (name != asked) continue;
      return NormalizerPlan{rows, call.in(0).shape(), norm, call.in(0).dtype() == DType::kFloat64};
    }
    return fail(ErrorCode::kInvalidArgument, "attribute 'norm' must be MAX, L1 or L2");
  }
  std::vector<TensorType> types() const { return {{DType::kFloat32, shape}}; }

  template <class C>
  static C value(const Call& call, std::int64_t index) {
    return std::is_same_v<C, double> ? static_cast<C>(ml::wide_at(call, index))
                                     : static_cast<C>(ml::narrow_at(call, index));
  }
  template <class C>
  struct Folded {
    C total{0}, last{0};
  };
  template <class C>
  Folded<C> fold(const Call& call, std::int64_t row, std::int64_t steps) const {
    const std::int64_t first = row * rows.features;
    if (norm == Norm::kMax) {
      Extreme<C, true> largest(steps);
      for (std::int64_t i = 0; i < rows.features; ++i) largest.add(i, value<C>(call, first + i));
      return {largest.value(), largest.value()};
    }
    Sum<C> sum(steps);
    for (std::int64_t i = 0; i < rows.features; ++i) {
      const C x = value<C>(call, first + i);
      sum.add(i, norm == Norm::kL1 ? std::abs(x) : x * x);
    }
    const C total = sum.total();
    return {norm == Norm::kL2 ? std::sqrt(total) : total, sum.last()};
  }
  template <class C>
  float normalised(C x, C divisor) const {
    return store<float>(static_cast<float>(divisor == 0 ? x : x / divisor));
  }
  template <class C>
  void fill(const Call& call, std::span<float> y) const {
    for (std::int64_t row = 0; row < rows.count && rows.features > 0; ++row) {
      const C divisor = fold<C>(call, row, kAllSteps).total;
      for (std::int64_t i = row * rows.features; i < (row + 1) * rows.features; ++i) {
        y[static_cast<std::size_t>(i)] = normalised(value<C>(call, i), divisor);
      }
    }
  }
  template <class C>
  float at(const Call& call, std::int64_t index) const {
    return normalised(value<C>(call, index), fold<C>(call, index / rows.features, kAllSteps).total);
  }

  Scalar element(const Call& call, int, std::int64_t index) const {
    return scalar_of(wide ? at<double>(call, index) : at<float>(call, index));
  }
  void reads(const Call&, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const std::int64_t first = index - index % rows.features;
    for (std::int64_t i = 0; i < rows.features; ++i) out.push_back({0, first + i});
  }
  std::int64_t steps(const Call&, int, std::int64_t) const {
    return rows.features + (norm == Norm::kMax ? 0 : Sum<float>::kTreeSteps);
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    const std::int64_t row = index / rows.features;
    return wide ? scalar_of(store<double>(fold<double>(call, row, steps).last))
                : scalar_of(store<float>(fold<float>(call, row, steps).last));
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto y = outputs[0].mutable_data<float>();
    return wide ? fill<double>(call, y) : fill<float>(call, y);
  }
};

// Rows side by side, as binary32. An input is cut to its entry of `inputdimensions`, or filled up
// to it with +0.
struct FeatureVectorizerPlan {
  std::int64_t count = 0, width = 0;
  std::vector<std::int64_t> starts;  // the first column of each input, and one more

  static core::Result<FeatureVectorizerPlan> make(const Call& call) {
    FeatureVectorizerPlan plan;
    COMMENSAL_ASSIGN(const auto dims, call.attributes->integers("inputdimensions"));
    if (!dims.empty() && dims.size() != call.inputs.size()) {
      return fail(ErrorCode::kInvalidArgument, "{} inputs, but attribute 'inputdimensions' has {}",
                  call.inputs.size(), dims.size());
    }
    plan.starts.push_back(0);
    for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) {
      if (!call.has(i)) return fail(ErrorCode::kInvalidArgument, "input {} is absent", i);
      COMMENSAL_TRY(shape_inference::check_dtype<ml::Numbers>(call, i));
      COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
      const Shape& shape = call.in(i).shape();
      if (shape.rank() != 1 && shape.rank() != 2) {
        return fail(ErrorCode::kInvalidArgument, "input {} must be [N, C] or [C], not {}", i,
                    shape.text());
      }
      const std::int64_t rows = shape.rank() == 1 ? 1 : shape[0];
      if (i == 0) plan.count = rows;
      if (rows != plan.count) {
        return fail(ErrorCode::kInvalidArgument, "input {} has {} rows, input 0 has {}", i, rows,
                    plan.count);
      }
      const std::int64_t columns =
          dims.empty() ? last_dim(shape) : dims[static_cast<std::size_t>(i)];
      const std::int64_t pair[] = {columns, plan.starts.back()};
      COMMENSAL_TRY(Shape::of({pair, 1}));
      plan.starts.push_back(plan.starts.back() + columns);
    }
    plan.width = plan.starts.back();
    const std::int64_t made[] = {plan.count, plan.width};
    COMMENSAL_TRY(Shape::of(made));
    return plan;
  }
  std::vector<TensorType> types() const { return {{DType::kFloat32, {count, width}}}; }

  // Input -1: filled up.
  ElementRef source(const Call& call, std::int64_t index) const {
    const std::int64_t column = index % width;
    const auto next = std::upper_bound(starts.begin(), starts.end(), column);
    const int input = static_cast<int>(next - starts.begin()) - 1;
    const std::int64_t along = column - *(next - 1);
    const std::int64_t columns = last_dim(call.in(input).shape());
    if (along >= columns) return {-1, 0};
    return {input, index / width * columns + along};
  }
  float value(const Call& call, std::int64_t index) const {
    const ElementRef from = source(call, index);
    if (from.input < 0) return 0;
    return visit(ml::Numbers{}, call.in(0).dtype(), [&]<class T>() {
      const T x = paced<T>(call, from.input)[static_cast<std::size_t>(from.index)];
      return store<float>(static_cast<float>(x));
    });
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return scalar_of(value(call, index));
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    const ElementRef from = source(call, index);
    if (from.input >= 0) out.push_back(from);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto y = outputs[0].mutable_data<float>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = value(call, static_cast<std::int64_t>(i));
  }
};

}  // namespace

constinit const Judge kBinarizer = judge_of<FeaturePlan<Binarizer>>();
constinit const Judge kFeatureVectorizer = judge_of<FeatureVectorizerPlan>();
constinit const Judge kImputer = judge_of<FeaturePlan<Imputer>>();
constinit const Judge kNormalizer = judge_of<NormalizerPlan>();
constinit const Judge kScaler = judge_of<FeaturePlan<Scaler>>();

}  // namespace commensal::kernels::ref
