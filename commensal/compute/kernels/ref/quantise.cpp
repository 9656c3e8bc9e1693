// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear: code = saturate(nearest_even(x / scale) + zero_point);
// DequantizeLinear: x = (code - zero_point) * scale, the difference exact and rounded to binary32.
#include <commensal/compute/kernels/infer/places.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using Reals = Types<float, Float16, Bfloat16, std::int32_t>;
using Narrow = Types<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t>;

// Which element of the scale (input 1) and zero point (input 2) serves an element of input 0: one
// for all, one for each position along an axis, or one for each block of positions along it.
struct ScalePlace {
  bool single = true;
  std::int64_t block = 1, blocks = 1;
  infer::AxisView view;

  static core::Result<ScalePlace> of(const Call& call) {
    const Shape &x = call.in(0).shape(), &scale = call.in(1).shape();
    COMMENSAL_TRY(infer::check_dtype<Floats32>(call, 1));
    if (call.has(2) && call.in(2).shape() != scale) {
      return fail(ErrorCode::kInvalidArgument, "zero point {} must have the shape of scale {}",
                  call.in(2).shape().text(), scale.text());
    }
    ScalePlace place;
    COMMENSAL_ASSIGN(const std::int64_t axis_given, call.attributes->integer("axis", 1));
    COMMENSAL_ASSIGN(const std::int64_t block, call.attributes->integer("block_size", 0));
    if (block == 0 && scale.rank() <= 1 && scale.elements() == 1) return place;
    COMMENSAL_ASSIGN(const int axis, tensor::normalise_axis(axis_given, x.rank()));
    place.single = false;
    place.view = infer::AxisView(x, axis);
    place.blocks = x[axis];
    Shape expected = {x[axis]};
    if (block > 0) {
      place.block = block;
      place.blocks = x[axis] / block + (x[axis] % block == 0 ? 0 : 1);
      COMMENSAL_ASSIGN(expected, infer::with_dim(x, axis, place.blocks));
      place.blocked = true;
    }
    if (block < 0 || scale != expected) {
      return fail(ErrorCode::kInvalidArgument, "scale {} does not fit input {}: expected {}",
                  scale.text(), x.text(), expected.text());
    }
    return place;
  }
  std::int64_t operator()(std::int64_t index) const {
    if (single) return 0;
    const std::int64_t along = view.along(index) / block;
    if (!blocked) return along;
    return (view.outer(index) * blocks + along) * view.inner_size + view.inner(index);
  }

  bool blocked = false;
};

void read_scaled(const Call& call, std::int64_t index, std::int64_t at,
                 std::vector<ElementRef>& out) {
  out.push_back({0, index});
  out.push_back({1, at});
  if (call.has(2)) out.push_back({2, at});
}

struct QuantizePlan {
  ScalePlace place;
  TensorType type;
  DType from = DType::kUndefined;

  static core::Result<QuantizePlan> make(const Call& call) {
    QuantizePlan plan;
    COMMENSAL_TRY(infer::check_dtype<Reals>(call, 0));
    COMMENSAL_ASSIGN(plan.place, ScalePlace::of(call));
    plan.from = call.in(0).dtype();
    COMMENSAL_ASSIGN(const std::int64_t stated, call.attributes->integer("output_dtype", 0));
    DType to = call.has(2) ? call.in(2).dtype() : DType::kUint8;
    if (stated != 0 && !call.has(2)) {
      COMMENSAL_ASSIGN(to, tensor::dtype_from_onnx(static_cast<int>(stated)));
    }
    if (!Narrow::has(to)) {
      return fail(ErrorCode::kUnsupported, "the output must be one of {}, not {}", Narrow::text(),
                  traits(to).name);
    }
    plan.type = {to, call.in(0).shape()};
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  template <class From, class To>
  To value(const Call& call, std::int64_t index) const {
    const std::int64_t at = place(index);
    const auto x =
        static_cast<float>(load(call.in(0).data<From>()[static_cast<std::size_t>(index)]));
    return code_of<To>(x / real_at(call.in(1), at), code_at(call, 2, at));
  }
  // Calls f<From, To>().
  template <class F>
  auto with_types(F&& f) const {
    return visit(Reals{}, from, [&]<class From>() {
      return visit(Narrow{}, type.dtype,
                   [&]<class To>() { return f.template operator()<From, To>(); });
    });
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return with_types(
        [&]<class From, class To>() { return scalar_of(value<From, To>(call, index)); });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    read_scaled(call, index, place(index), out);
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    with_types([&]<class From, class To>() {
      const auto y = outputs[0].mutable_data<To>();
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = value<From, To>(call, static_cast<std::int64_t>(i));
      }
    });
  }
};

struct DequantizePlan {
  ScalePlace place;
  TensorType type;

  static core::Result<DequantizePlan> make(const Call& call) {
    DequantizePlan plan;
    COMMENSAL_TRY(infer::check_dtype<Codes>(call, 0));
    COMMENSAL_TRY(infer::check_same_dtype(call, 2));
    COMMENSAL_ASSIGN(plan.place, ScalePlace::of(call));
    plan.type = {call.in(1).dtype(), call.in(0).shape()};
    COMMENSAL_ASSIGN(const std::int64_t stated, call.attributes->integer("output_dtype", 0));
    if (stated != 0) {
      COMMENSAL_ASSIGN(plan.type.dtype, tensor::dtype_from_onnx(static_cast<int>(stated)));
    }
    if (Floats32::has(plan.type.dtype)) return plan;
    return fail(ErrorCode::kUnsupported, "the output must be one of {}, not {}", Floats32::text(),
                traits(plan.type.dtype).name);
  }
  std::vector<TensorType> types() const { return {type}; }

  template <class T>
  T value(const Call& call, std::int64_t index) const {
    const std::int64_t at = place(index);
    const std::int64_t code = code_at(call, 0, index) - code_at(call, 2, at);
    return store<T>(static_cast<float>(code) * real_at(call.in(1), at));
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
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
    });
  }
};

// The range of all elements and 0 is cut into 255 steps; the zero point is the code of 0.
struct DynamicPlan {
  Shape shape;
  int outputs = 1;

  static core::Result<DynamicPlan> make(const Call& call) {
    COMMENSAL_TRY(infer::check_dtype<Types<float>>(call, 0));
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
    for (const float x : call.in(0).data<float>()) {
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
    const float x = call.in(0).data<float>()[static_cast<std::size_t>(index)];
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
    const auto x = call.in(0).data<float>();
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
    const auto x = call.in(0).data<float>();
    const auto y = outputs[0].mutable_data<std::uint8_t>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = code_of<std::uint8_t>(x[i] / made.scale, made.zero_point);
    }
    if (outputs.size() > 1) outputs[1].mutable_data<float>()[0] = store<float>(made.scale);
    if (outputs.size() > 2) outputs[2].mutable_data<std::uint8_t>()[0] = made.zero_point;
  }
};

}  // namespace

Columns dequantize_linear() { return columns_of<DequantizePlan>(); }
Columns dynamic_quantize_linear() { return columns_of<DynamicPlan>(); }
Columns quantize_linear() { return columns_of<QuantizePlan>(); }

}  // namespace commensal::kernels::ref
