// SPDX-License-Identifier: Apache-2.0
// 8-bit codes by cpu/ against ref/, bit for bit, in all combinations of uint8 and int8.
#include <commensal/compute/kernels/cpu/testing/conv_cases.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using namespace kernels::testing;
using tensor::DType;
using tensor::Shape;

constexpr DType kBytes[] = {DType::kUint8, DType::kInt8};

// Any codes; one tensor in four has the extremes only, where products are largest.
Tensor codes(Draw& draw, DType type, const Shape& shape) {
  const Tensor wild = random_of(draw, type, shape, Blend::kWild);
  if (!draw.one_in(4)) return wild;
  std::vector<std::uint8_t> bytes;
  for (const std::uint8_t byte : wild.bytes()) {
    const bool high = byte % 3 != 0;
    bytes.push_back(type == DType::kUint8 ? (high ? 255 : 0) : (high ? 128 : 127));
  }
  return Tensor::copy_of({type, shape}, bytes);
}

Tensor scales(Draw& draw, const Shape& shape) {
  std::vector<float> made;
  for (std::int64_t i = 0; i < shape.elements(); ++i) made.push_back(draw.real(0.001f, 0.02f));
  return Tensor::of<float>(shape, made);
}

// Absent, one for all, one for each of `count`, or one for each of `full`.
Shape spread_shape(Draw& draw, std::int64_t count, const Shape& full) {
  const Shape all[] = {{}, {1}, {count}, full};
  return draw.of(all);
}

struct MatMulShapes {
  Shape a, b;
};
const MatMulShapes kMatMuls[] = {
    {{7, 5}, {5, 11}},
    {{1, 64}, {64, 100}},
    {{13, 1}, {1, 3}},
    {{3, 19, 8}, {8, 50}},
    {{2, 3, 9, 64}, {3, 64, 50}},
    {{4, 1, 6, 7}, {3, 7, 9}},
    {{30}, {30, 20}},
    {{20, 30}, {30}},
    {{5}, {5}},
    {{8}, {3, 8, 2}},
    {{2, 0, 4}, {4, 3}},
    {{2, 3, 0}, {0, 5}},
    {{5, 803}, {803, 49}},
    {{1100, 9}, {9, 17}},
    {{17, 33}, {33, 97}},
    {{2, 1, 24, 24}, {1, 5, 24, 24}},
};

Shape full_of(const Shape& shape, bool rows) {
  if (shape.rank() < 2) return shape;
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[dims.size() - (rows ? 1 : 2)] = 1;
  return shape_of(dims);
}
std::int64_t rows_of(const Shape& a) { return a.rank() < 2 ? 1 : a[a.rank() - 2]; }
std::int64_t columns_of(const Shape& b) { return b.rank() < 2 ? 1 : b[b.rank() - 1]; }

// A vector is a matrix whose scales and zero points are single here.
Shape row_spread(Draw& draw, const Shape& a) {
  return a.rank() < 2 ? Shape{} : spread_shape(draw, rows_of(a), full_of(a, true));
}
Shape column_spread(Draw& draw, const Shape& b) {
  return b.rank() < 2 ? Shape{} : spread_shape(draw, columns_of(b), full_of(b, false));
}

TEST(EqualityMatMulInteger, AllTypesShapesAndZeroPoints) {
  Draw draw(1);
  for (const auto& [a, b] : kMatMuls) {
    for (const DType left : kBytes) {
      for (const DType right : kBytes) {
        for (int zeros = 0; zeros < 4; ++zeros) {
          SCOPED_TRACE(fmt::format("{}{} {} {} {}", a.text(), b.text(), traits(left).name,
                                   traits(right).name, zeros));
          Case test{.name = "MatMulInteger", .attributes = {}, .inputs = {}, .constants = {1}};
          test.inputs = {codes(draw, left, a), codes(draw, right, b), Tensor(), Tensor()};
          if (zeros % 2 == 1) test.inputs[2] = codes(draw, left, row_spread(draw, a));
          if (zeros / 2 == 1) test.inputs[3] = codes(draw, right, column_spread(draw, b));
          test.serves = b.elements() > 0;
          expect_equal_to_ref(test);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(EqualityQLinearMatMul, AllTypesShapesAndScales) {
  Draw draw(2);
  for (const auto& [a, b] : kMatMuls) {
    for (int types = 0; types < 8; ++types) {
      const DType left = kBytes[types & 1], right = kBytes[types >> 1 & 1],
                  out = kBytes[types >> 2];
      SCOPED_TRACE(fmt::format("{}{} {}", a.text(), b.text(), types));
      const Shape of_a = row_spread(draw, a), of_b = column_spread(draw, b);
      Case test{.name = "QLinearMatMul", .attributes = {}, .inputs = {}, .constants = {3}};
      const Shape of_y =
          draw.one_in(2) || a.rank() < 2 || b.rank() < 2 ? Shape{} : Shape{rows_of(a)};
      test.inputs = {codes(draw, left, a),  scales(draw, of_a),    codes(draw, left, of_a),
                     codes(draw, right, b), scales(draw, of_b),    codes(draw, right, of_b),
                     scales(draw, of_y),    codes(draw, out, of_y)};
      test.serves = b.elements() > 0;
      expect_equal_to_ref(test);
      if (HasFatalFailure()) return;
    }
  }
}

// Ties, infinities and NaN on the way to a code.
TEST(EqualityQLinearMatMul, RareScales) {
  Draw draw(3);
  const float rare[] = {0.5f,
                        0,
                        -1,
                        1e-40f,
                        1e38f,
                        std::numeric_limits<float>::infinity(),
                        std::numeric_limits<float>::quiet_NaN()};
  for (const float a : rare) {
    for (const float y : rare) {
      Case test{.name = "QLinearMatMul", .attributes = {}, .inputs = {}, .constants = {3}};
      const auto one = [](float value) { return Tensor::of<float>({}, std::array{value}); };
      test.inputs = {codes(draw, DType::kUint8, {3, 6}),
                     one(a),
                     codes(draw, DType::kUint8, {}),
                     codes(draw, DType::kInt8, {6, 20}),
                     one(1),
                     codes(draw, DType::kInt8, {}),
                     one(y),
                     codes(draw, DType::kInt8, {})};
      expect_equal_to_ref(test);
    }
  }
}

Case conv_case(const ConvCase& c, bool requantised) {
  Case test{.name = requantised ? "QLinearConv" : "ConvInteger",
            .attributes = {},
            .inputs = {},
            .constants = {requantised ? 3 : 1},
            .serves = c.x.rank() <= 4};  // lines and pictures
  set_attributes(test, c);
  return test;
}

void check_code_conv(Draw& draw, const ConvCase& c, DType x, DType w) {
  SCOPED_TRACE(fmt::format("{}: {} {} {} {}", c.what, c.x.text(), c.w.text(), traits(x).name,
                           traits(w).name));
  const Shape of_w = draw.one_in(2) ? Shape{} : Shape{c.w[0]};
  Case integer = conv_case(c, false);
  integer.inputs = {codes(draw, x, c.x), codes(draw, w, c.w), Tensor(), Tensor()};
  if (!draw.one_in(3)) integer.inputs[2] = codes(draw, x, {});
  if (!draw.one_in(3)) integer.inputs[3] = codes(draw, w, of_w);
  expect_equal_to_ref(integer);
  const DType y = draw.of(kBytes);
  Case test = conv_case(c, true);
  test.inputs = {integer.inputs[0],  scales(draw, {}),     codes(draw, x, {}), integer.inputs[1],
                 scales(draw, of_w), codes(draw, w, of_w), scales(draw, {}),   codes(draw, y, {})};
  if (draw.one_in(2)) test.inputs.push_back(random_of(draw, DType::kInt32, {c.w[0]}, Blend::kWild));
  expect_equal_to_ref(test);
}

void check_code_convs(const std::vector<ConvCase>& cases) {
  Draw draw(4);
  for (const ConvCase& c : cases) {
    for (const DType x : kBytes) {
      for (const DType w : kBytes) check_code_conv(draw, c, x, w);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(EqualityConvOfCodes, Shapes) { check_code_convs(direct_convs()); }
TEST(EqualityConvOfCodes, Depthwise) { check_code_convs(depthwise_convs()); }
TEST(EqualityConvOfCodes, BatchesOfOneToEight) {
  Draw draw(5);
  for (std::int64_t n = 1; n <= 8; ++n) {
    check_code_conv(draw, {"batch", {n, 5, 9, 9}, {6, 5, 3, 3}, {2, 2}, {1, 1, 1, 1}},
                    draw.of(kBytes), draw.of(kBytes));
  }
}
TEST(EqualityConvOfCodes, RandomShapes) {
  Draw draw(6);
  for (int round = 0; round < case_count(60) && !HasFailure(); ++round) {
    const std::int64_t group = draw.one_in(4) ? draw.number(2, 4) : 1;
    const std::int64_t channels = draw.number(1, 20), kh = draw.number(1, 4),
                       kw = draw.number(1, 4), dilation = draw.number(1, 2);
    const ConvCase c{
        "random",
        {draw.number(1, 3), group * channels, draw.number(kh * 2, 20), draw.number(kw * 2, 40)},
        {group * draw.number(1, 20), channels, kh, kw},
        {draw.number(1, 3), draw.number(1, 3)},
        {draw.number(0, 2), draw.number(0, 2), draw.number(0, 2), draw.number(0, 2)},
        {dilation, dilation},
        group};
    check_code_conv(draw, c, draw.of(kBytes), draw.of(kBytes));
  }
}

TEST(EqualityConvOfCodes, WideDepthwise) {
  check_code_convs({{"5x7", {1, 3, 20, 30}, {3, 1, 5, 7}, {1, 2}, {2, 3, 2, 3}, {}, 3},
                    {"1x9, dilated", {2, 2, 6, 50}, {4, 1, 1, 9}, {}, {0, 5, 0, 9}, {1, 2}, 2},
                    {"4x4/4", {1, 3, 17, 19}, {3, 1, 4, 4}, {4, 4}, {}, {}, 3},
                    {"one channel", {2, 1, 12, 12}, {6, 1, 3, 3}, {}, {1, 1, 1, 1}},
                    {"pads beyond", {1, 2, 3, 2}, {2, 1, 2, 2}, {}, {3, 3, 3, 3}, {}, 2}});
}

TEST(EqualityMaxPoolOfCodes, Windows) {
  Draw draw(10);
  for (const ConvCase& c : direct_convs()) {
    for (const DType type : kBytes) {
      Case test{.name = "MaxPool", .attributes = {}, .inputs = {}, .constants = {}};
      const auto dims = c.w.dims().subspan(2);
      test.attributes.set("kernel_shape", Ints(dims.begin(), dims.end()));
      if (!c.strides.empty()) test.attributes.set("strides", c.strides);
      if (!c.pads.empty()) test.attributes.set("pads", c.pads);
      test.inputs = {codes(draw, type, c.x)};
      SCOPED_TRACE(c.what);
      expect_equal_to_ref(test);
    }
  }
}

TEST(EqualityCast, IntegersToFloat) {
  Draw draw(11);
  for (const DType type : {DType::kUint8, DType::kInt8, DType::kInt32}) {
    Case test{.name = "Cast", .attributes = {}, .inputs = {}, .constants = {}};
    test.attributes.set("to", std::int64_t{1});
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{7, 33}, Shape{3, 20000}}) {
      test.inputs = {random_of(draw, type, shape, Blend::kWild)};
      expect_equal_to_ref(test);
    }
  }
}

const Shape kLinearShapes[] = {{},      {1},    {5},          {3, 5},  {2, 16, 7},
                               {2, 48}, {0, 3}, {2, 3, 4, 5}, {40000}, {3, 20000}};

// One scale, or one for each position along the axis, which may be the last.
void check_linear(Draw& draw, std::string_view name, const Tensor& x, DType zero_type) {
  for (int axis = -1; axis < x.shape().rank(); ++axis) {
    Case test{.name = name, .attributes = {}, .inputs = {}, .constants = {}};
    const Shape shape = axis < 0 ? Shape{} : Shape{x.shape()[axis]};
    if (axis >= 0) test.attributes.set("axis", std::int64_t{axis});
    SCOPED_TRACE(fmt::format("{} axis {}", x.type().text(), axis));
    test.serves = name != "QuantizeLinear" || x.dtype() == DType::kFloat32;
    test.inputs = {x, scales(draw, shape)};
    if (zero_type != DType::kInt32 && !draw.one_in(4)) {
      test.inputs.push_back(codes(draw, zero_type, shape));
    }
    expect_equal_to_ref(test);
  }
}

TEST(EqualityQuantizeLinear, TypesAndAxes) {
  Draw draw(7);
  for (const Shape& shape : kLinearShapes) {
    for (const DType type : kBytes) {
      check_linear(draw, "QuantizeLinear", random_of(draw, DType::kFloat32, shape, Blend::kSpecial),
                   type);
      check_linear(draw, "QuantizeLinear", random_of(draw, DType::kFloat32, shape, Blend::kWild),
                   type);
    }
    check_linear(draw, "QuantizeLinear", random_of(draw, DType::kInt32, shape), DType::kUint8);
  }
}

TEST(EqualityDequantizeLinear, TypesAndAxes) {
  Draw draw(8);
  for (const Shape& shape : kLinearShapes) {
    for (const DType type : {DType::kUint8, DType::kInt8, DType::kInt32}) {
      check_linear(draw, "DequantizeLinear", random_of(draw, type, shape, Blend::kWild), type);
    }
  }
}

TEST(EqualityDynamicQuantizeLinear, Values) {
  Draw draw(9);
  for (const Shape& shape : kLinearShapes) {
    for (const Blend blend : {Blend::kPlain, Blend::kSpecial, Blend::kWild}) {
      SCOPED_TRACE(shape.text());
      expect_equal_to_ref({.name = "DynamicQuantizeLinear",
                           .attributes = {},
                           .inputs = {random_of(draw, DType::kFloat32, shape, blend)},
                           .constants = {},
                           .outputs = 3});
    }
  }
  for (const float value :
       {0.0f, -0.0f, 1e-44f, 3.0f, -3.0f, std::numeric_limits<float>::infinity()}) {
    expect_equal_to_ref({.name = "DynamicQuantizeLinear",
                         .attributes = {},
                         .inputs = {Tensor::of<float>({2}, std::array{value, -0.0f})},
                         .constants = {},
                         .outputs = 3});
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
