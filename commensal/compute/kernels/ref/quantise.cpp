// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear: code = saturate(nearest_even(x / scale) + zero_point);
// DequantizeLinear: x = (code - zero_point) * scale, the difference exact and rounded to binary32.
// Codes of a floating format are the nearest numbers of it.
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/scale_index.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using shape_inference::ScaleIndex;
using Reals = Types<float, Float16, Bfloat16, std::int32_t>;

void read_scaled(const Call& call, std::int64_t index, std::int64_t at,
                 std::vector<ElementRef>& out) {
  out.push_back({0, index});
  out.push_back({1, at});
  if (call.has(2)) out.push_back({2, at});
}

// What a stored code may be; integers from low to high, or (both 0) a small float.
struct CodeRange {
  DType dtype;
  std::int64_t low = 0, high = 0;
  bool is_float() const { return low == high; }
};
constexpr CodeRange kRanges[] = {
    {DType::kUint8, 0, 255},        {DType::kInt8, -128, 127}, {DType::kUint16, 0, 65535},
    {DType::kInt16, -32768, 32767}, {DType::kUint4, 0, 15},    {DType::kInt4, -8, 7},
    {DType::kFloat8E4M3Fn},         {DType::kFloat8E4M3FnUz},  {DType::kFloat8E5M2},
    {DType::kFloat8E5M2FnUz},       {DType::kFloat4E2M1}};

core::Result<CodeRange> range_of(DType dtype) {
  for (const CodeRange& range : kRanges) {
    if (range.dtype == dtype) return range;
  }
  return fail(ErrorCode::kUnsupported, "{} holds no codes", traits(dtype).name);
}

core::Result<DType> stated_dtype(const Call& call, std::string_view attribute, DType fallback) {
  COMMENSAL_ASSIGN(const std::int64_t stated, call.attributes->integer(attribute, 0));
  if (stated == 0) return fallback;
  if (stated < 0 || stated > 255) {
    return fail(ErrorCode::kInvalidArgument, "attribute '{}' is {}", attribute, stated);
  }
  return tensor::dtype_from_onnx(static_cast<int>(stated));
}

struct QuantizePlan {
  ScaleIndex place;
  TensorType type;
  CodeRange range;
  DType from = DType::kUndefined;
  DType precision = DType::kFloat32;  // what the quotient is rounded to
  bool saturate = true;

  static core::Result<QuantizePlan> make(const Call& call) {
    QuantizePlan plan;
    COMMENSAL_TRY(shape_inference::check_dtype<Reals>(call, 0));
    COMMENSAL_ASSIGN(plan.place, ScaleIndex::of(call));
    plan.from = call.in(0).dtype();
    const DType fallback = call.has(2) ? call.in(2).dtype() : DType::kUint8;
    COMMENSAL_ASSIGN(const DType to, stated_dtype(call, "output_dtype", fallback));
    COMMENSAL_ASSIGN(plan.precision, stated_dtype(call, "precision", DType::kFloat32));
    COMMENSAL_ASSIGN(plan.saturate, call.attributes->integer("saturate", 1));
    COMMENSAL_ASSIGN(plan.range, range_of(to));
    if (call.has(2) && call.in(2).dtype() != to) {
      return fail(ErrorCode::kInvalidArgument, "zero point is {}, 'output_dtype' says {}",
                  traits(call.in(2).dtype()).name, traits(to).name);
    }
    if (!Floats32::has(plan.precision)) {
      return fail(ErrorCode::kUnsupported, "a precision of {}", traits(plan.precision).name);
    }
    plan.type = {to, call.in(0).shape()};
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  float quotient(float x, float scale) const {
    const float exact = x / scale;
    return visit(Floats32{}, precision, [&]<class T>() { return load(store<T>(exact)); });
  }
  template <class From>
  std::uint64_t value(const Call& call, std::int64_t index) const {
    const std::int64_t at = place(index);
    const auto x = static_cast<float>(load(paced<From>(call, 0)[static_cast<std::size_t>(index)]));
    const float q = quotient(x, real_at(call.in(1), at));
    if (range.is_float()) {
      const float zero = call.has(2) ? real_at(call.in(2), at) : 0;
      return tensor::small_from_float(type.dtype, zero == 0 ? q : q + zero, saturate);
    }
    const std::int64_t code = code_between(q, code_at(call, 2, at), range.low, range.high);
    return static_cast<std::uint64_t>(code) & (range.high - range.low);
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Reals{}, from, [&]<class From>() {
      return Scalar{type.dtype, value<From>(call, index)};
    });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    read_scaled(call, index, place(index), out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const auto size = static_cast<std::size_t>(tensor::traits(type.dtype).size);
    const auto to = outputs[0].mutable_bytes();
    visit(Reals{}, from, [&]<class From>() {
      for (std::size_t i = 0; i < to.size() / size; ++i) {
        call.pulse(4);
        const std::uint64_t code = value<From>(call, static_cast<std::int64_t>(i));
        std::memcpy(to.data() + i * size, &code, size);
      }
    });
  }
};

struct DequantizePlan {
  ScaleIndex place;
  TensorType type;

  static core::Result<DequantizePlan> make(const Call& call) {
    DequantizePlan plan;
    if (call.in(0).dtype() != DType::kInt32) COMMENSAL_TRY(range_of(call.in(0).dtype()));
    COMMENSAL_TRY(shape_inference::check_same_dtype(call, 2));
    COMMENSAL_ASSIGN(plan.place, ScaleIndex::of(call));
    COMMENSAL_ASSIGN(const DType to, stated_dtype(call, "output_dtype", call.in(1).dtype()));
    plan.type = {to, call.in(0).shape()};
    if (Floats32::has(plan.type.dtype)) return plan;
    return fail(ErrorCode::kUnsupported, "the output must be one of {}, not {}", Floats32::text(),
                traits(plan.type.dtype).name);
  }
  std::vector<TensorType> types() const { return {type}; }

  // From the zero point.
  static float distance(const Call& call, std::int64_t index, std::int64_t at) {
    if (tensor::is_small_float(call.in(0).dtype())) {
      const float x = real_at(call.in(0), index), zero = call.has(2) ? real_at(call.in(2), at) : 0;
      return zero == 0 ? x : x - zero;
    }
    return static_cast<float>(code_at(call, 0, index) - code_at(call, 2, at));
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    const std::int64_t at = place(index);
    return store<T>(distance(call, index, at) * real_at(call.in(1), at));
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Floats32{}, type.dtype,
                 [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    read_scaled(call, index, place(index), out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Floats32{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(4);
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
    });
  }
};

// The range of all elements and 0 is cut into 255 steps; the zero point is the code of 0.
struct DynamicPlan {
  Shape shape;
  int outputs = 1;

  static core::Result<DynamicPlan> make(const Call& call) {
    COMMENSAL_TRY(shape_inference::check_dtype<Types<float>>(call, 0));
    return DynamicPlan{call.in(0).shape(), call.output_count};
  }
  std::vector<TensorType> types() const {
    std::vector<TensorType> all = {
        {DType::kUint8, shape}, {DType::kFloat32, {}}, {DType::kUint8, {}}};
    all.resize(static_cast<std::size_t>(outputs));
    return all;
  }
  struct Range {
    float scale = 0;
    std::uint8_t zero_point = 0;
  };
  static Range range(const Call& call) {
    float low = 0, high = 0;
    for (const float x : paced<float>(call, 0)) {
      if (above(x, high)) high = x;
      if (below(x, low)) low = x;
    }
    Range made;
    made.scale = (high - low) / 255.0f;
    made.zero_point = code_of<std::uint8_t>((0.0f - low) / made.scale, 0);
    return made;
  }
  Scalar element(const Call& call, int output, std::int64_t index) const {
    const Range made = range(call);
    if (output == 1) return scalar_of(store<float>(made.scale));
    if (output == 2) return scalar_of(made.zero_point);
    const float x = paced<float>(call, 0)[static_cast<std::size_t>(index)];
    return scalar_of(code_of<std::uint8_t>(x / made.scale, made.zero_point));
  }
  void reads(const Call& call, int, std::int64_t, std::vector<ElementRef>& out) const {
    read_whole(call, 0, out);
  }
  // The running maximum (from 0) of all elements, then the running minimum (from 0).
  std::int64_t steps(const Call& call, int, std::int64_t) const {
    return 2 * call.in(0).elements();
  }
  Scalar partial(const Call& call, int, std::int64_t, std::int64_t steps) const {
    const auto x = paced<float>(call, 0);
    const auto count = static_cast<std::int64_t>(x.size());
    float last = 0;
    for (std::int64_t i = steps <= count ? 0 : count; i < steps; ++i) {
      const float one = x[static_cast<std::size_t>(i % count)];
      if (i < count ? above(one, last) : below(one, last)) last = one;
    }
    return scalar_of(store<float>(last));
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    const Range made = range(call);
    const auto x = paced<float>(call, 0);
    const auto y = outputs[0].mutable_data<std::uint8_t>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = code_of<std::uint8_t>(x[i] / made.scale, made.zero_point);
    }
    if (outputs.size() > 1) outputs[1].mutable_data<float>()[0] = store<float>(made.scale);
    if (outputs.size() > 2) outputs[2].mutable_data<std::uint8_t>()[0] = made.zero_point;
  }
};

}  // namespace

constinit const Judge kDequantizeLinear = judge_of<DequantizePlan>();
constinit const Judge kDynamicQuantizeLinear = judge_of<DynamicPlan>();
constinit const Judge kQuantizeLinear = judge_of<QuantizePlan>();

}  // namespace commensal::kernels::ref
