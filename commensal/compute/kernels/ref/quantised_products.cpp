// SPDX-License-Identifier: Apache-2.0
// MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv: one chain of int32 steps per output over
// (a - zero point of a) * (b - zero point of b), wrapping; the order of k is that of MatMul and
// Conv, though no order can be told from the result. A tap in the padding is no step.
// QLinear: y = saturate(nearest_even(acc * ((scale_a * scale_b) / scale_y)) + zero_point_y).
#include <commensal/compute/kernels/ref/chain.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/quantised.hpp>
#include <commensal/compute/kernels/shape_inference/quantized_products.hpp>

namespace commensal::kernels::ref {
namespace {

using shape_inference::Dims;
using shape_inference::kInteger;
using shape_inference::kRequantised;
using Operand = shape_inference::CodeOperand;
using Roles = shape_inference::CodeRoles;

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
      COMMENSAL_TRY(shape_inference::check_codes(call, one));
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
      call.pulse(4);
      if (steps_max-- > 0) acc = step(a[i], b[j], acc);
    });
    return acc;
  }
  template <class T>
  T value(const Call& call, std::int64_t index) const {
    std::int32_t acc = sum(call, index, kAllSteps);
    const std::int64_t bias = product.bias(index);
    if (bias >= 0) {
      acc = plus(acc, paced<std::int32_t>(call, kRoles.bias)[static_cast<std::size_t>(bias)]);
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
      for (std::size_t i = 0; i < y.size(); ++i) {
        call.pulse(16);
        y[i] = value<T>(call, static_cast<std::int64_t>(i));
      }
    });
  }
};

struct MatMulProduct : shape_inference::CodeMatMul {
  static core::Result<MatMulProduct> of(const Call& call, const Roles& roles) {
    COMMENSAL_ASSIGN(const auto made, shape_inference::CodeMatMul::of(call, roles));
    return MatMulProduct{made};
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

struct ConvProduct : shape_inference::CodeConv {
  static core::Result<ConvProduct> of(const Call& call, const Roles& roles) {
    COMMENSAL_ASSIGN(const auto made, shape_inference::CodeConv::of(call, roles));
    return ConvProduct{made};
  }
  Shape shape() const { return shape_inference::conv_type(conv).shape; }
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
    conv.window.for_taps(at, [&](std::int64_t tap, std::int64_t source) {
      for (std::int64_t c = 0; c < conv.group_channels(); ++c) {
        f(x_base + source + c * conv.window.in_elements(),
          channel * conv.depth() + tap + c * conv.window.taps());
      }
    });
  }
};

}  // namespace

constinit const Judge kConvInteger = judge_of<Quantised<ConvProduct, false>>();
constinit const Judge kMatmulInteger = judge_of<Quantised<MatMulProduct, false>>();
constinit const Judge kQlinearConv = judge_of<Quantised<ConvProduct, true>>();
constinit const Judge kQlinearMatmul = judge_of<Quantised<MatMulProduct, true>>();

}  // namespace commensal::kernels::ref
