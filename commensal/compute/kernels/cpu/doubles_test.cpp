// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

/// Of as many digits as a double has, so that no product is exact; kTiny: products underflow.
Tensor doubles(const Shape& shape, std::uint64_t seed, Values values) {
  const Tensor high = random_tensor(shape, seed, values);
  const Tensor low = random_tensor(shape, seed + 100);
  std::vector<double> data;
  for (std::size_t i = 0; i < high.data<float>().size(); ++i) {
    const double x = high.data<float>()[i];
    const double wide = x == 0 ? x : x + x * 0x1p-24 * low.data<float>()[i];
    data.push_back(values == Values::kTiny ? wide * 1e-142 : wide);
  }
  return Tensor::of<double>(shape, data);
}

constexpr Values kAllValues[] = {Values::kPlain, Values::kSpecial, Values::kTiny};

TEST(EqualityDoubles, MatMul) {
  const Shape shapes[][2] = {
      {{7, 5}, {5, 11}},
      {{2, 3, 19, 64}, {2, 3, 64, 50}},
      {{3, 19, 8}, {8, 100}},
      {{4, 1, 6, 7}, {3, 7, 9}},
      {{300}, {300, 20}},
      {{20, 300}, {300}},
      {{5}, {5}},
      {{8}, {3, 8, 2}},
      {{2, 0, 4}, {4, 3}},
      {{2, 3, 0}, {0, 5}},
      {{1, 600}, {600, 96}},
      {{64, 64}, {64, 64}},
      {{2, 1, 24, 24}, {1, 5, 24, 24}},
  };
  for (const auto& [a, b] : shapes) {
    SCOPED_TRACE(a.text() + b.text());
    for (const Values values : kAllValues) {
      expect_equal_to_ref({.name = "MatMul",
                           .attributes = {},
                           .inputs = {doubles(a, 4, values), doubles(b, 5, values)},
                           .constants = {1}});
    }
  }
}

TEST(EqualityDoubles, MatMulTails) {
  for (std::int64_t m = 1; m <= 18; ++m) {
    for (const std::int64_t n : {1, 2, 3, 7, 12, 13, 24, 25}) {
      SCOPED_TRACE(fmt::format("{}x{}", m, n));
      expect_equal_to_ref(
          {.name = "MatMul",
           .attributes = {},
           .inputs = {doubles({m, 5}, 1, Values::kSpecial), doubles({5, n}, 2, Values::kPlain)},
           .constants = {}});
    }
  }
}

TEST(EqualityDoubles, Gemm) {
  for (const Values values : kAllValues) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        for (const Shape& c : {Shape{}, Shape{33}, Shape{17, 1}, Shape{17, 33}}) {
          SCOPED_TRACE(fmt::format("{} {} {}", ta, tb, c.text()));
          Case test{.name = "Gemm",
                    .attributes = {},
                    .inputs = {doubles(ta ? Shape{300, 17} : Shape{17, 300}, 1, values),
                               doubles(tb ? Shape{33, 300} : Shape{300, 33}, 2, values)},
                    .constants = {1}};
          test.attributes.set("transA", std::int64_t{ta});
          test.attributes.set("transB", std::int64_t{tb});
          expect_equal_to_ref(test);
          test.inputs.push_back(doubles(c, 3, values));
          expect_equal_to_ref(test);
          test.attributes.set("alpha", 0.3f);
          test.attributes.set("beta", -2.7f);
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

TEST(EqualityDoubles, Reductions) {
  const Shape shapes[] = {{300, 70},    {70, 300},  {3, 5, 7, 41}, {1, 5000}, {5000, 1},
                          {2, 40, 257}, {33, 1025}, {1},           {17, 64}};
  for (const std::string_view name :
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum",
        "ReduceSumSquare", "ArgMax", "ArgMin"}) {
    const bool is_place = name.starts_with("Arg");
    for (const Shape& shape : shapes) {
      for (const Values values : kAllValues) {
        Case test{.name = name,
                  .opset = 12,
                  .attributes = {},
                  .inputs = {doubles(shape, 7, values)},
                  .constants = {}};
        for (std::int64_t axis = 0; axis < shape.rank(); ++axis) {
          SCOPED_TRACE(fmt::format("{} {} {}", name, shape.text(), axis));
          if (is_place) {
            test.attributes.set("axis", axis);
          } else {
            test.attributes.set("axes", Ints{axis});
          }
          expect_equal_to_ref(test);
        }
        if (is_place || shape.rank() < 4) continue;
        for (const Ints& axes : {Ints{0, 2}, Ints{1, 3}, Ints{2, 3}, Ints{0, 1, 2, 3}}) {
          test.attributes.set("axes", axes);
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

struct Pooling {
  Shape shape;
  Ints kernel, strides, pads, dilations;
};

TEST(EqualityDoubles, MaxPool) {
  const Pooling all[] = {
      {{2, 3, 9, 21}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
      {{1, 2, 13, 13}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
      {{1, 2, 20, 17}, {2, 3}, {3, 1}, {0, 2, 1, 0}, {2, 3}},
      {{1, 1, 1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
      {{1, 2, 5, 10}, {3, 3}, {2, 5}, {2, 2, 2, 2}, {4, 4}},  // most taps in the padding
      {{3, 2, 41}, {4}, {4}, {1, 2}, {1}},
      {{1, 1, 9000}, {3}, {1}, {1, 1}, {1}},
      {{1, 2, 5, 6, 7}, {3, 2, 3}, {2, 1, 2}, {1, 0, 1, 1, 1, 1}, {1, 1, 1}},
      {{0, 2, 5, 5}, {2, 2}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
  };
  for (const Pooling& pool : all) {
    SCOPED_TRACE(pool.shape.text());
    for (const Values values : kAllValues) {
      for (const std::int64_t ceil : {0, 1}) {
        Case test{.name = "MaxPool",
                  .opset = 22,
                  .attributes = {},
                  .inputs = {doubles(pool.shape, 1, values)},
                  .constants = {}};
        test.attributes.set("kernel_shape", pool.kernel);
        test.attributes.set("strides", pool.strides);
        test.attributes.set("pads", pool.pads);
        test.attributes.set("dilations", pool.dilations);
        test.attributes.set("ceil_mode", ceil);
        test.serves = pool.shape.elements() > 0;
        expect_equal_to_ref(test);
        test.outputs = 2;
        for (const std::int64_t column_major : {0, 1}) {
          test.attributes.set("storage_order", column_major);
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

/// Every difference, zeros of both signs and the outermost numbers among them.
template <class T>
Tensor numbers(const Shape& shape, std::uint64_t seed) {
  core::CounterRng rng(seed, 3);
  constexpr T kEdges[] = {T{0}, T{1}, std::numeric_limits<T>::max(),
                          std::numeric_limits<T>::lowest()};
  std::vector<T> data;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    const std::uint64_t word = std::uint64_t{rng.next_u32()} << 32 | rng.next_u32();
    data.push_back(word % 7 == 0 ? kEdges[word / 7 % 4] : static_cast<T>(word));
  }
  return Tensor::of<T>(shape, data);
}

template <class Make>
void check_extremes(const Make& make) {
  for (const std::string_view name : {"Max", "Min"}) {
    const Shape shapes[][2] = {{{2, 3, 4, 5}, {2, 3, 4, 5}}, {{7, 133}, {7, 1}}, {{}, {3, 40}},
                               {{40000}, {40000}},           {{0, 3}, {3}},      {{}, {}},
                               {{4, 1, 6}, {5, 1}}};
    for (const auto& [a, b] : shapes) {
      SCOPED_TRACE(a.text() + b.text());
      expect_equal_to_ref(
          {.name = name, .attributes = {}, .inputs = {make(a, 1), make(b, 2)}, .constants = {}});
      expect_equal_to_ref({.name = name,
                           .attributes = {},
                           .inputs = {make(b, 1), make(a, 2), make(Shape{1}, 3)},
                           .constants = {}});
    }
    expect_equal_to_ref(
        {.name = name, .attributes = {}, .inputs = {make(Shape{5}, 1)}, .constants = {}});
  }
  for (const std::int64_t count : {0, 1, 17, 40000}) {
    for (std::uint64_t seed = 1; seed < 8; ++seed) {  // bounds in either order
      const Tensor x = make(Shape{count}, seed), low = make(Shape{}, seed + 1),
                   high = make(Shape{1}, seed + 2), none;
      for (const auto& inputs : std::vector<std::vector<Tensor>>{
               {x, low, high}, {x, low}, {x, none, high}, {x, none, low}}) {
        expect_equal_to_ref({.name = "Clip", .attributes = {}, .inputs = inputs, .constants = {}});
      }
    }
  }
}

TEST(EqualityExtremes, EveryTypeOfNumber) {
  check_extremes(numbers<std::int8_t>);
  check_extremes(numbers<std::int16_t>);
  check_extremes(numbers<std::int32_t>);
  check_extremes(numbers<std::int64_t>);
  check_extremes(numbers<std::uint8_t>);
  check_extremes(numbers<std::uint16_t>);
  check_extremes(numbers<std::uint32_t>);
  check_extremes(numbers<std::uint64_t>);
  for (const Values values : kAllValues) {
    check_extremes([&](const Shape& s, std::uint64_t seed) { return doubles(s, seed, values); });
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
