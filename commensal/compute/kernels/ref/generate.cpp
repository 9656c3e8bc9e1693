// SPDX-License-Identifier: Apache-2.0
// Operators that make values from shapes and parameters: Constant, ConstantOfShape, Shape, Size,
// Range, EyeLike.
#include <algorithm>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/runs.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;

// A tensor that is known once the call is: all that is left is to copy it. Its elements depend on
// types, attributes and the inputs from kFirstParameter on.
template <class Op>
struct KnownPlan {
  Tensor value;

  static core::Result<KnownPlan> make(const Call& call) {
    COMMENSAL_ASSIGN(Tensor value, Op::value(call));
    return KnownPlan{std::move(value)};
  }
  std::vector<TensorType> types() const { return {value.type()}; }
  Scalar element(const Call&, int, std::int64_t index) const {
    const auto size = static_cast<std::size_t>(tensor::traits(value.dtype()).size);
    Scalar made{value.dtype(), 0};
    std::memcpy(&made.bits, value.bytes().data() + static_cast<std::size_t>(index) * size, size);
    return made;
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    if constexpr (requires { Op::kReadsInputs; }) {
      for (int i = 0; i < static_cast<int>(call.inputs.size()); ++i) read_whole(call, i, out);
    }
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto to = outputs[0].mutable_bytes();
    copy(call.pulse, to.data(), value.bytes().data(), to.size());
  }
};

Tensor integers(const Shape& shape, std::span<const std::int64_t> values) {
  return Tensor::of<std::int64_t>(shape, values);
}

struct Constant {
  static core::Result<Tensor> value(const Call& call) {
    const Attributes& given = *call.attributes;
    if (given.has("value")) return given.tensor("value");
    if (given.has("value_int")) {
      COMMENSAL_ASSIGN(const std::int64_t one, given.integer("value_int", 0));
      return integers({}, {&one, 1});
    }
    if (given.has("value_float")) {
      COMMENSAL_ASSIGN(const float one, given.real("value_float", 0));
      return Tensor::of<float>({}, {&one, 1});
    }
    if (given.has("value_ints")) {
      COMMENSAL_ASSIGN(const auto list, given.integers("value_ints"));
      return integers({static_cast<std::int64_t>(list.size())}, list);
    }
    if (given.has("value_floats")) {
      COMMENSAL_ASSIGN(const auto list, given.reals("value_floats"));
      return Tensor::of<float>({static_cast<std::int64_t>(list.size())}, list);
    }
    return fail(ErrorCode::kUnsupported, "a constant that is no dense tensor of numbers");
  }
};

struct ShapeOf {
  static core::Result<Tensor> value(const Call& call) {
    const auto dims = call.in(0).shape().dims();
    const auto rank = static_cast<std::int64_t>(dims.size());
    COMMENSAL_ASSIGN(std::int64_t start, call.attributes->integer("start", 0));
    COMMENSAL_ASSIGN(std::int64_t end, call.attributes->integer("end", rank));
    start = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
    end = std::clamp<std::int64_t>(end < 0 ? end + rank : end, start, rank);
    return integers({end - start}, dims.subspan(static_cast<std::size_t>(start),
                                                static_cast<std::size_t>(end - start)));
  }
};

struct SizeOf {
  static core::Result<Tensor> value(const Call& call) {
    const std::int64_t elements = call.in(0).elements();
    return integers({}, {&elements, 1});
  }
};

struct OfShapePlan {
  TensorType type;
  std::uint64_t bits = 0;

  static core::Result<OfShapePlan> make(const Call& call) {
    COMMENSAL_ASSIGN(const auto dims, shape_inference::integer_list(call, 0));
    OfShapePlan plan;
    COMMENSAL_ASSIGN(plan.type.shape, Shape::of(dims));
    COMMENSAL_ASSIGN(const Tensor value, call.attributes->tensor("value"));
    plan.type.dtype = value.defined() ? value.dtype() : DType::kFloat32;
    if (!value.defined()) return plan;
    if (value.elements() != 1) {
      return fail(ErrorCode::kInvalidArgument, "attribute 'value' must have one element, not {}",
                  value.elements());
    }
    std::memcpy(&plan.bits, value.bytes().data(), value.bytes().size());
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }
  Scalar element(const Call&, int, std::int64_t) const { return {type.dtype, bits}; }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto to = outputs[0].mutable_bytes();
    const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
    for (std::size_t at = 0; at < to.size(); at += size) {
      call.pulse();
      std::memcpy(to.data() + at, &bits, size);
    }
  }
  void run_rows(const Call&, std::span<Tensor> outputs, ThreadPool& threads) const {
    fill_elements(threads, outputs[0], bits);
  }
};

// start + i * delta, the product rounded before the sum; the number of elements is
// ceil((limit - start) / delta), floats in binary64.
struct RangePlan {
  using In = Types<float, double, std::int16_t, std::int32_t, std::int64_t>;
  TensorType type;

  template <class T>
  static double count_of(T start, T limit, T delta) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                       static_cast<double>(delta));
    } else {
      if ((delta > 0) != (limit > start) || limit == start) return 0;
      // Distances as unsigned numbers: they cannot overflow.
      const auto u = [](T x) { return static_cast<std::uint64_t>(x); };
      const std::uint64_t distance = delta > 0 ? u(limit) - u(start) : u(start) - u(limit);
      const std::uint64_t stride = delta > 0 ? u(delta) : 0 - u(delta);
      return static_cast<double>(distance / stride + (distance % stride != 0 ? 1 : 0));
    }
  }
  static core::Result<RangePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<In>(call, 0));
    for (int i = 0; i < 3; ++i) {
      COMMENSAL_TRY(shape_inference::check_same_dtype(call, i));
      if (call.in(i).elements() != 1) {
        return fail(ErrorCode::kInvalidArgument, "input {} must be a scalar", i);
      }
    }
    const double count = visit(In{}, call.in(0).dtype(), [&]<class T>() -> double {
      const auto of = [&](int i) { return paced<T>(call, i)[0]; };
      return of(2) == T{0} ? std::numeric_limits<double>::quiet_NaN()
                           : std::max(count_of(of(0), of(1), of(2)), 0.0);
    });
    if (!(count <= static_cast<double>(limits::kTensorElementsMax))) {
      return fail(ErrorCode::kInvalidArgument, "a range without an end");
    }
    return RangePlan{{call.in(0).dtype(), Shape{static_cast<std::int64_t>(count)}}};
  }
  std::vector<TensorType> types() const { return {type}; }
  template <class T>
  static T value(const Call& call, std::int64_t index) {
    const T start = paced<T>(call, 0)[0], delta = paced<T>(call, 2)[0];
    return store<T>(plus(start, times(static_cast<T>(index), delta)));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(In{}, type.dtype, [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    for (int i = 0; i < 3; ++i) read_whole(call, i, out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(In{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse();
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    visit(In{}, type.dtype, [&]<class T>() {
      const T start = call.in(0).data<T>()[0], delta = call.in(2).data<T>()[0];
      T* const y = outputs[0].mutable_data<T>().data();
      in_pieces(call, threads, outputs[0].elements(), 1 << 14,
                [&](const Call&, std::int64_t from, std::int64_t to) {
                  for (std::int64_t i = from; i < to; ++i) {
                    y[i] = store<T>(plus(start, times(static_cast<T>(i), delta)));
                  }
                });
    });
  }
};

struct EyeLikePlan {
  TensorType type;
  std::int64_t diagonal = 0;

  static core::Result<EyeLikePlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_rank(call, 0, 2));
    EyeLikePlan plan;
    plan.type = call.in(0).type();
    COMMENSAL_ASSIGN(plan.diagonal, call.attributes->integer("k", 0));
    COMMENSAL_ASSIGN(const std::int64_t dtype,
                     call.attributes->integer("dtype", static_cast<int>(plan.type.dtype)));
    COMMENSAL_ASSIGN(plan.type.dtype, tensor::dtype_from_onnx(static_cast<int>(dtype)));
    if (Everything::has(plan.type.dtype)) return plan;
    return core::fail(core::ErrorCode::kUnsupported, "the output must be one of {}, not {}",
                      Everything::text(), traits(plan.type.dtype).name);
  }
  std::vector<TensorType> types() const { return {type}; }
  template <class T>
  T value(std::int64_t index) const {
    const std::int64_t row = index / type.shape[1], column = index % type.shape[1];
    return store<T>(static_cast<Compute<T>>(column - row == diagonal ? 1 : 0));
  }
  Scalar element(const Call&, int, std::int64_t index) const {
    return visit(Everything{}, type.dtype, [&]<class T>() { return scalar_of(value<T>(index)); });
  }
  void reads(const Call&, int, std::int64_t, std::vector<ElementRef>&) const {}
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Everything{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse();
        y[i] = value<T>(static_cast<std::int64_t>(i));
      }
    });
  }
  void run_rows(const Call& call, std::span<Tensor> outputs, ThreadPool& threads) const {
    const std::int64_t rows = type.shape[0], columns = type.shape[1];
    fill_elements(threads, outputs[0], 0);
    if (diagonal <= -rows || diagonal >= columns) return;
    visit(Everything{}, type.dtype, [&]<class T>() {
      T* const y = outputs[0].mutable_data<T>().data();
      for (std::int64_t r = std::max<std::int64_t>(-diagonal, 0);
           r < std::min(rows, columns - diagonal); ++r) {
        call.pulse();
        y[r * columns + r + diagonal] = store<T>(Compute<T>{1});
      }
    });
  }
};

}  // namespace

constinit const Judge kConstant = judge_of<KnownPlan<Constant>>();
constinit const Judge kConstantOfShape = judge_of<OfShapePlan>();
constinit const Judge kEyeLike = judge_of<EyeLikePlan>();
constinit const Judge kRange = judge_of<RangePlan>();
constinit const Judge kShape = judge_of<KnownPlan<ShapeOf>>();
constinit const Judge kSize = judge_of<KnownPlan<SizeOf>>();

}  // namespace commensal::kernels::ref
