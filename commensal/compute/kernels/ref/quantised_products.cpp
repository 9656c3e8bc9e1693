// SPDX-License-Identifier: Apache-2.0
// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv: one chain of int32 steps per output over
// (a - zero point of a) * (b - zero point of b), wrapping; the order of k is that of MatMul and
// Conv, though no order can be told from the result. A tap in the padding is no step.
// QLinear: y = saturate(nearest_even(acc * ((scale_a * scale_b) / scale_y)) + zero_point_y).
#include <commensal/compute/kernels/infer/conv.hpp>
#include <commensal/compute/kernels/infer/gemm.hpp>
#include <commensal/compute/kernels/infer/places.hpp>
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>

namespace commensal::kernels::ref {
namespace {

using core::ErrorCode;
using core::fail;
using infer::Dims;

// Which inputs are what; -1: this operator has none. The first of them is the tensor of codes.
struct Operand {
  int codes = 0, scale = -1, zero = -1;
};
struct Roles {
  Operand a, b, y;
  int bias = -1;
};
constexpr Roles kInteger{{0, -1, 2}, {1, -1, 3}, {}, -1};
constexpr Roles kRequantised{{0, 1, 2}, {3, 4, 5}, {-1, 6, 7}, 8};

core::Result<void> check_codes(const Call& call, const Operand& operand) {
  if (operand.codes >= 0) COMMENSAL_TRY(infer::check_dtype<Bytes>(call, operand.codes));
  if (operand.scale >= 0) COMMENSAL_TRY(infer::check_dtype<Floats32>(call, operand.scale));
  if (operand.zero < 0 || !call.has(operand.zero)) return {};
  COMMENSAL_TRY(infer::check_dtype<Bytes>(call, operand.zero));
  if (operand.codes < 0 || call.in(operand.zero).dtype() == call.in(operand.codes).dtype()) {
    return {};
  }
  return fail(ErrorCode::kInvalidArgument, "zero point {} must be {} like its tensor", operand.zero,
              traits(call.in(operand.codes).dtype()).name);
}

// How a scale or zero point serves the elements: one for all, one for each row (or column, or
// channel), or one for each row of each matrix.
struct Spread {
  bool single = true, everywhere = false;

  // `count` of rows in a matrix; `all` rows in all matrices; `full` the shape with one for each.
  static core::Result<Spread> of(const Call& call, int input, std::int64_t count,
                                 const Shape* full) {
    if (input < 0 || !call.has(input)) return Spread{};
    const Shape& shape = call.in(input).shape();
    if (shape.rank() <= 1 && shape.elements() == 1) return Spread{};
    if (shape == Shape{count}) return Spread{false, false};
    if (full != nullptr && shape == *full) return Spread{false, true};
    return fail(ErrorCode::kInvalidArgument,
                "input {} {} must be a scalar, [{}] or one for each row or column", input,
                shape.text(), count);
  }
  std::int64_t at(std::int64_t matrix, std::int64_t count, std::int64_t i) const {
    return single ? 0 : everywhere ? matrix * count + i : i;
  }
};
struct Spreads {
  Spread scale, zero;

  static core::Result<Spreads> of(const Call& call, const Operand& operand, std::int64_t count,
                                  const Shape* full) {
    Spreads made;
    COMMENSAL_ASSIGN(made.scale, Spread::of(call, operand.scale, count, full));
    COMMENSAL_ASSIGN(made.zero, Spread::of(call, operand.zero, count, full));
    return made;
  }
};

// Where one output finds its scales and zero points.
struct Spots {
  std::int64_t a_scale = 0, a_zero = 0, b_scale = 0, b_zero = 0, y_scale = 0, y_zero = 0;
};

void read_spots(const Call& call, const Roles& roles, const Spots& at,
                std::vector<ElementRef>& out) {
  const auto add = [&](int input, std::int64_t index) {
    if (input >= 0 && call.has(input)) out.push_back({input, index});
  };
  add(roles.a.scale, at.a_scale);
  add(roles.a.zero, at.a_zero);
  add(roles.b.scale, at.b_scale);
  add(roles.b.zero, at.b_zero);
  add(roles.y.scale, at.y_scale);
  add(roles.y.zero, at.y_zero);
}

// The accumulator as an element of the output.
template <class T>
T requantised(const Call& call, const Roles& roles, const Spots& at, std::int32_t acc) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    return acc;
  } else {
    const float product =
        real_at(call.in(roles.a.scale), at.a_scale) * real_at(call.in(roles.b.scale), at.b_scale);
    const float factor = product / real_at(call.in(roles.y.scale), at.y_scale);
    return code_of<T>(static_cast<float>(acc) * factor, code_at(call, roles.y.zero, at.y_zero));
  }
}

// The codes of an operand less its zero point.
class Shifted {
 public:
  Shifted(const Call& call, const Operand& operand, std::int64_t zero_at)
      : codes_(call.in(operand.codes)), zero_(code_at_or_none(call, operand.zero, zero_at)) {}
  std::int32_t operator[](std::int64_t i) const {
    return static_cast<std::int32_t>(codes_[i] - zero_);
  }

 private:
  static std::int64_t code_at_or_none(const Call& call, int input, std::int64_t at) {
    return input < 0 ? 0 : code_at(call, input, at);
  }
  CodeView codes_;
  std::int64_t zero_;
};

using Outputs = Types<std::uint8_t, std::int8_t, std::int32_t>;

// What both products share, given the places of one output (Product::spots) and its steps in order
// (Product::for_steps calls f(index in a, index in b)).
template <class Product, bool kRequantises>
struct Quantised {
  static constexpr Roles kRoles = kRequantises ? kRequantised : kInteger;
  Product product;
  TensorType type;

  static core::Result<Quantised> make(const Call& call) {
    for (const Operand& one : {kRoles.a, kRoles.b, kRoles.y}) {
      COMMENSAL_TRY(check_codes(call, one));
    }
    Quantised plan;
    COMMENSAL_ASSIGN(plan.product, Product::of(call, kRoles));
    plan.type = {kRequantises ? call.in(kRoles.y.zero).dtype() : DType::kInt32,
                 plan.product.shape()};
    return plan;
  }
  std::vector<TensorType> types() const { return {type}; }

  std::int32_t sum(const Call& call, std::int64_t index, std::int64_t steps_max) const {
    const Spots at = product.spots(index);
    const Shifted a(call, kRoles.a, at.a_zero), b(call, kRoles.b, at.b_zero);
    std::int32_t acc = 0;
    product.for_steps(index, [&](std::int64_t i, std::int64_t j) {
      if (steps_max-- > 0) acc = step(a[i], b[j], acc);
    });
    return acc;
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    std::int32_t acc = sum(call, index, kAllSteps);
    const std::int64_t bias = product.bias(index);
    if (bias >= 0) {
      acc = plus(acc, call.in(kRoles.bias).data<std::int32_t>()[static_cast<std::size_t>(bias)]);
    }
    return requantised<T>(call, kRoles, product.spots(index), acc);
  }
  Scalar element(const Call& call, int, std::int64_t index) const {
    return visit(Outputs{}, type.dtype,
                 [&]<class T>() { return scalar_of(value<T>(call, index)); });
  }
  void reads(const Call& call, int, std::int64_t index, std::vector<ElementRef>& out) const {
    product.for_steps(index, [&](std::int64_t i, std::int64_t j) {
      out.push_back({kRoles.a.codes, i});
      out.push_back({kRoles.b.codes, j});
    });
    if (product.bias(index) >= 0) out.push_back({kRoles.bias, product.bias(index)});
    read_spots(call, kRoles, product.spots(index), out);
  }
  std::int64_t steps(const Call&, int, std::int64_t index) const {
    std::int64_t count = 0;
    product.for_steps(index, [&](auto, auto) { ++count; });
    return count;
  }
  Scalar partial(const Call& call, int, std::int64_t index, std::int64_t steps) const {
    return scalar_of(sum(call, index, steps));
  }
  void run(const Call& call, std::span<Tensor> outputs) const {
    visit(Outputs{}, type.dtype, [&]<class T>() {
      const auto y = outputs[0].mutable_data<T>();
      for (std::size_t i = 0; i < y.size(); ++i)
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
    });
  }
};

// [..., M, 1] or [..., 1, N]: one for each row or column of all matrices of a tensor.
core::Result<Shape> one_for_each(const Shape& shape, bool rows) {
  if (shape.rank() < 2) return shape;
  return infer::with_dim(shape, shape.rank() - (rows ? 1 : 2), 1);
}

struct MatMulProduct {
  infer::MatMul mm;
  Spreads a, b, y;

  static core::Result<MatMulProduct> of(const Call& call, const Roles& roles) {
    MatMulProduct made;
    const TensorType &a = call.in(roles.a.codes).type(), &b = call.in(roles.b.codes).type();
    COMMENSAL_ASSIGN(made.mm, infer::matmul_of(a, b));
    COMMENSAL_ASSIGN(const Shape a_full, one_for_each(a.shape, true));
    COMMENSAL_ASSIGN(const Shape b_full, one_for_each(b.shape, false));
    COMMENSAL_ASSIGN(const Shape y_full, one_for_each(made.mm.shape, true));
    COMMENSAL_ASSIGN(made.a, Spreads::of(call, roles.a, made.mm.m, &a_full));
    COMMENSAL_ASSIGN(made.b, Spreads::of(call, roles.b, made.mm.n, &b_full));
    COMMENSAL_ASSIGN(made.y, Spreads::of(call, roles.y, made.mm.m, &y_full));
    return made;
  }
  const Shape& shape() const { return mm.shape; }
  std::int64_t bias(std::int64_t) const { return -1; }

  Spots spots(std::int64_t index) const {
    const std::int64_t j = index % mm.n, i = index / mm.n % mm.m, batch = index / mm.n / mm.m;
    const std::int64_t a_at = mm.a_matrix(batch), b_at = mm.b_matrix(batch);
    return {.a_scale = a.scale.at(a_at, mm.m, i),
            .a_zero = a.zero.at(a_at, mm.m, i),
            .b_scale = b.scale.at(b_at, mm.n, j),
            .b_zero = b.zero.at(b_at, mm.n, j),
            .y_scale = y.scale.at(batch, mm.m, i),
            .y_zero = y.zero.at(batch, mm.m, i)};
  }
  template <class F>
  void for_steps(std::int64_t index, F&& f) const {
    const std::int64_t j = index % mm.n, i = index / mm.n % mm.m, batch = index / mm.n / mm.m;
    const std::int64_t a_row = (mm.a_matrix(batch) * mm.m + i) * mm.k;
    const std::int64_t b_column = mm.b_matrix(batch) * mm.k * mm.n + j;
    for (std::int64_t k = 0; k < mm.k; ++k) f(a_row + k, b_column + k * mm.n);
  }
};

struct ConvProduct {
  infer::Conv conv;
  Spreads w;

  static core::Result<ConvProduct> of(const Call& call, const Roles& roles) {
    ConvProduct made;
    const infer::ConvInputs inputs{roles.a.codes, roles.b.codes, roles.bias};
    COMMENSAL_ASSIGN(made.conv, infer::conv_of(call, inputs));
    if (made.conv.has_bias) {
      COMMENSAL_TRY(infer::check_dtype<Types<std::int32_t>>(call, roles.bias));
    }
    // One for all of X and of Y, one for all or for each output channel of W.
    COMMENSAL_TRY(Spreads::of(call, roles.a, 1, nullptr));
    COMMENSAL_ASSIGN(made.w, Spreads::of(call, roles.b, made.conv.out_channels, nullptr));
    COMMENSAL_TRY(Spreads::of(call, roles.y, 1, nullptr));
    return made;
  }
  Shape shape() const { return infer::conv_type(conv).shape; }
  std::int64_t out_channel(std::int64_t index) const {
    return index / conv.window.out_elements() % conv.out_channels;
  }
  std::int64_t bias(std::int64_t index) const { return conv.has_bias ? out_channel(index) : -1; }

  Spots spots(std::int64_t index) const {
    const std::int64_t channel = out_channel(index);
    Spots at;
    at.b_scale = w.scale.at(0, 0, channel);
    at.b_zero = w.zero.at(0, 0, channel);
    return at;
  }
  template <class F>
  void for_steps(std::int64_t index, F&& f) const {
    const std::int64_t spatial = conv.window.out_elements(), channel = out_channel(index);
    const std::int64_t image = index / spatial / conv.out_channels;
    const std::int64_t first = channel / conv.group_out_channels() * conv.group_channels();
    const std::int64_t x_base = (image * conv.channels + first) * conv.window.in_elements();
    const Dims at = conv.window.split(index % spatial, conv.window.out);
    for (std::int64_t tap = 0; tap < conv.window.taps(); ++tap) {
      const std::int64_t source =
          conv.window.source(at, conv.window.split(tap, conv.window.kernel));
      if (source < 0) continue;
      for (std::int64_t c = 0; c < conv.group_channels(); ++c) {
        f(x_base + source + c * conv.window.in_elements(),
          channel * conv.depth() + tap + c * conv.window.taps());
      }
    }
  }
};

}  // namespace

Columns conv_integer() { return columns_of<Quantised<ConvProduct, false>>(); }
Columns matmul_integer() { return columns_of<Quantised<MatMulProduct, false>>(); }
Columns qlinear_conv() { return columns_of<Quantised<ConvProduct, true>>(); }
Columns qlinear_matmul() { return columns_of<Quantised<MatMulProduct, true>>(); }

}  // namespace commensal::kernels::ref
