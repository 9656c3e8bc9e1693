// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <commensal/compute/kernels/cpu/blocked/half_conv.hpp>
#include <commensal/compute/kernels/cpu/testing/conv_cases.hpp>
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/kernels/cpu/testing/gemm_cases.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Bfloat16;
using tensor::DType;
using tensor::Float16;
using tensor::Shape;

/// All bit patterns, as often as they fit.
Tensor all_halves(DType dtype, const Shape& shape) {
  core::Bytes bytes;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    bytes.push_back(static_cast<std::uint8_t>(i));
    bytes.push_back(static_cast<std::uint8_t>(i >> 8));
  }
  return Tensor::copy_of({dtype, shape}, bytes);
}

Tensor rounded(DType dtype, const Tensor& from) {
  std::vector<Float16> halves;
  std::vector<Bfloat16> brains;
  for (const float one : from.data<float>()) {
    halves.push_back(tensor::to_float16(one));
    brains.push_back(tensor::to_bfloat16(one));
  }
  return dtype == DType::kFloat16 ? Tensor::of<Float16>(from.shape(), halves)
                                  : Tensor::of<Bfloat16>(from.shape(), brains);
}

Tensor halves(DType dtype, const Shape& shape, std::uint64_t seed, Values values) {
  return rounded(dtype, random_tensor(shape, seed, values));
}

constexpr DType kHalfTypes[] = {DType::kFloat16, DType::kBfloat16};

/// A case of binary32, of 16-bit floats.
void expect_halves_equal(const Case& test) {
  for (const DType dtype : kHalfTypes) {
    Case own = test;
    for (Tensor& input : own.inputs) input = rounded(dtype, input);
    expect_equal_to_ref(own);
  }
}

TEST(EqualityHalves, GemmForms) { check_gemm_forms(expect_halves_equal); }
TEST(EqualityHalves, GemmTails) { check_gemm_tails(expect_halves_equal); }
TEST(EqualityHalves, GemmNarrow) { check_narrow_gemms(expect_halves_equal); }
TEST(EqualityHalves, GemmZeros) { check_gemm_zeros(expect_halves_equal); }
TEST(EqualityHalves, MatMuls) { check_matmuls(expect_halves_equal); }
TEST(EqualityHalves, Convs) {
  check_convs(direct_convs(), expect_halves_equal);
  check_convs(depthwise_convs(), expect_halves_equal);
}

// Those that constant weights put into blocks, and their neighbours that do not fit.
TEST(EqualityHalves, BlockedConvs) {
  const std::vector<ConvCase> all = {
      {"3x3", {3, 17, 19, 15}, {33, 17, 3, 3}, {}, {1, 1, 1, 1}},
      {"whole blocks", {1, 32, 8, 32}, {64, 32, 3, 3}, {}, {1, 1, 1, 1}},
      {"several parts", {1, 5, 31, 29}, {16, 5, 2, 3}, {2, 1}, {0, 1, 2, 3}},
      {"several depths", {1, 130, 9, 7}, {20, 130, 3, 3}, {}, {2, 2, 2, 2}, {2, 2}},
      {"one pixel, deep", {2, 1500, 1, 1}, {70, 1500, 1, 1}},
      {"pointwise", {2, 40, 13, 5}, {49, 40, 1, 1}},
      {"pointwise, large", {2, 140, 13, 5}, {130, 140, 1, 1}},
      {"line", {2, 21, 300}, {35, 21, 5}, {2}, {2, 1}, {2}},
      {"line of one", {1, 7, 1}, {16, 7, 3}, {}, {1, 1}},
      {"pads beyond what blocks take", {1, 6, 3, 4}, {17, 6, 2, 2}, {40, 50}, {70, 70, 70, 70}},
      {"one channel less", {1, 4, 9, 9}, {16, 4, 3, 3}, {}, {1, 1, 1, 1}},
      {"one output less", {1, 5, 9, 9}, {15, 5, 3, 3}, {}, {1, 1, 1, 1}},
      {"no pictures", {0, 5, 9, 9}, {16, 5, 3, 3}},
  };
  check_convs(all, expect_halves_equal);
  check_random_convs(60, expect_halves_equal);
}

TEST(EqualityHalves, ConvsThatAreToBeBlockedAre) {
  const ConvCase all[] = {{"3x3", {3, 17, 19, 15}, {33, 17, 3, 3}, {}, {1, 1, 1, 1}},
                          {"pointwise", {2, 140, 13, 5}, {130, 140, 1, 1}},
                          {"line", {2, 21, 300}, {35, 21, 5}, {2}, {2, 1}, {2}}};
  ThreadPool pool(2);
  for (const ConvCase& c : all) {
    check_conv(c, Values::kPlain, Values::kPlain, true, [&](const Case& test) {
      Case own = test;
      for (Tensor& input : own.inputs) input = rounded(DType::kFloat16, input);
      CaseRunner runner(own);
      for (const Isa isa : available_isas()) {
        const auto packed = runner.pack(isa);
        runner.compare_with([&](const auto&, const Call& call, std::span<Tensor> outputs) {
          Workspace ws{runner.arena(), pool, isa, packed.get()};
          EXPECT_TRUE(packed != nullptr && half_conv(call, outputs[0], ws).value_or(false));
          return core::Result<void>();
        });
      }
    });
  }
}

TEST(EqualityHalves, EveryHalfKeepsItsBits) {
  for (const DType dtype : kHalfTypes) {
    Case test{.name = "MaxPool",
              .opset = 22,
              .attributes = {},
              .inputs = {all_halves(dtype, {1, 1, 256, 256})},
              .constants = {}};
    test.attributes.set("kernel_shape", Ints{1, 1});
    expect_equal_to_ref(test);
  }
}

// Sums of two halves lie between two others; products overflow and underflow.
TEST(EqualityHalves, OutputsAreRoundedOnce) {
  for (const DType dtype : kHalfTypes) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      const auto x = [&](const Shape& shape, std::uint64_t seed) {
        return halves(dtype, shape, seed, values);
      };
      const Case all[] = {
          {.name = "MatMul",
           .attributes = {},
           .inputs = {x({3, 19, 20}, 1), x({20, 37}, 2)},
           .constants = {1}},
          {.name = "Gemm",
           .attributes = {},
           .inputs = {x({5, 9}, 1), x({9, 33}, 2), x({33}, 3)},
           .constants = {1}},
          // 3x3 over 16 channels: in binary32 the Winograd clause would apply.
          {.name = "Conv",
           .attributes = {},
           .inputs = {x({1, 16, 9, 9}, 1), x({5, 16, 3, 3}, 2), x({5}, 3)},
           .constants = {1}},
          {.name = "ConvTranspose",
           .attributes = {},
           .inputs = {x({1, 4, 7, 9}, 1), x({4, 3, 3, 3}, 2)},
           .constants = {1}},
          {.name = "BatchNormalization",
           .attributes = {},
           .inputs = {x({2, 5, 7, 9}, 1), x({5}, 2), x({5}, 3), x({5}, 4), x({5}, 5)},
           .constants = {}},
          {.name = "InstanceNormalization",
           .attributes = {},
           .inputs = {x({2, 5, 7, 9}, 1), x({5}, 2), x({5}, 3)},
           .constants = {}},
          {.name = "LayerNormalization",
           .opset = 17,
           .attributes = {},
           .inputs = {x({3, 19, 70}, 1), x({70}, 2), x({70}, 3)},
           .constants = {},
           .outputs = 3},
          {.name = "GlobalAveragePool",
           .attributes = {},
           .inputs = {x({2, 19, 7, 7}, 1)},
           .constants = {}},
          {.name = "GlobalMaxPool",
           .attributes = {},
           .inputs = {x({2, 19, 7, 7}, 1)},
           .constants = {}},
      };
      for (Case test : all) {
        test.serves = values == Values::kPlain;
        expect_equal_to_ref(test);
      }
      for (const std::string_view name : {"AveragePool", "MaxPool", "LpPool"}) {
        Case test{.name = name,
                  .opset = 22,
                  .attributes = {},
                  .inputs = {x({1, 3, 9, 21}, 1)},
                  .constants = {}};
        test.attributes.set("kernel_shape", Ints{2, 3});
        expect_equal_to_ref(test);
      }
    }
  }
}

// States stay in binary32.
TEST(EqualityHalves, RecurrentLayers) {
  const std::pair<std::string_view, std::int64_t> all[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [name, gates] : all) {
    for (const DType dtype : kHalfTypes) {
      for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
        const std::int64_t units = values == Values::kPlain ? 37 : 3;  // NaN spreads
        const auto x = [&](const Shape& shape, std::uint64_t seed) {
          return halves(dtype, shape, seed, values);
        };
        Case test{.name = name,
                  .opset = 14,
                  .attributes = {},
                  .inputs = {x({4, 3, 5}, 1), x({2, gates * units, 5}, 2),
                             x({2, gates * units, units}, 3), x({2, 2 * gates * units}, 4),
                             Tensor::of<std::int32_t>({3}, std::array<std::int32_t, 3>{2, 4, 0}),
                             x({2, 3, units}, 5)},
                  .constants = {1, 2},
                  .outputs = name == "LSTM" ? 3 : 2};
        if (name == "LSTM") {
          test.inputs.push_back(x({2, 3, units}, 6));
          test.inputs.push_back(x({2, 3 * units}, 7));
        }
        test.attributes.set("direction", std::string("bidirectional"));
        expect_equal_to_ref(test);
      }
    }
  }
}

Case of_type(std::string_view name, int opset, std::vector<Tensor> inputs) {
  return {
      .name = name, .opset = opset, .attributes = {}, .inputs = std::move(inputs), .constants = {}};
}

// 65536 and more elements: several tasks, several blocks, a rest of a vector.
TEST(EqualityHalves, FunctionsOfEveryHalf) {
  constexpr std::string_view kNames[] = {
      "Abs",  "Acos",  "Acosh",      "Asin",      "Asinh",       "Atan",      "Atanh",
      "Ceil", "Celu",  "Clip",       "Cos",       "Cosh",        "Elu",       "Erf",
      "Exp",  "Floor", "Gelu",       "HardSwish", "HardSigmoid", "LeakyRelu", "Log",
      "Mish", "Neg",   "Reciprocal", "Relu",      "Round",       "Selu",      "Sigmoid",
      "Sin",  "Sinh",  "Softplus",   "Sqrt",      "Swish",       "Tan",       "Tanh"};
  for (const DType dtype : kHalfTypes) {
    for (const std::string_view name : kNames) {
      for (const std::int64_t count : {1, 37, 66001}) {
        SCOPED_TRACE(fmt::format("{} {}", name, count));
        expect_equal_to_ref(of_type(name, 24, {all_halves(dtype, {count})}));
      }
    }
    Case tanh = of_type("Gelu", 20, {all_halves(dtype, {66001})});
    tanh.attributes.set("approximate", std::string("tanh"));
    expect_equal_to_ref(tanh);
    Case swish = of_type("Swish", 24, {all_halves(dtype, {66001})});
    swish.attributes.set("alpha", -1.7f);
    expect_equal_to_ref(swish);
  }
}

TEST(EqualityHalves, ClipByBounds) {
  for (const DType dtype : kHalfTypes) {
    const Tensor x = all_halves(dtype, {66001});
    const Tensor low = halves(dtype, {}, 3, Values::kPlain);
    expect_equal_to_ref(of_type("Clip", 13, {x, low, Tensor()}));
    expect_equal_to_ref(of_type("Clip", 13, {x, Tensor(), low}));
    Case old = of_type("Clip", 6, {x});
    old.attributes.set("min", -1.1f);
    old.attributes.set("max", 6.3f);
    expect_equal_to_ref(old);
  }
}

TEST(EqualityHalves, FunctionsOfSeveral) {
  const Shape shapes[][2] = {{{2, 3, 4, 5}, {2, 3, 4, 5}},
                             {{2, 3, 17, 5}, {3, 1, 1}},
                             {{7, 33}, {7, 1}},
                             {{7, 33}, {33}},
                             {{}, {2, 40}},
                             {{4, 1, 6}, {5, 1}},
                             {{0, 3}, {3}},
                             {{}, {}},
                             {{3, 20001}, {3, 20001}},
                             {{3, 20001}, {3, 1}}};
  for (const DType dtype : kHalfTypes) {
    for (const std::string_view name : {"Add", "Div", "Max", "Min", "Mul", "Pow", "Sub"}) {
      for (const auto& [a, b] : shapes) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, a.text(), b.text()));
        for (const Values values : {Values::kSpecial, Values::kTiny}) {
          const Tensor x = halves(dtype, a, 1, values), y = halves(dtype, b, 2, values);
          expect_equal_to_ref(of_type(name, 13, {x, y}));
          expect_equal_to_ref(of_type(name, 13, {y, x}));
        }
      }
    }
    for (const std::string_view name : {"Max", "Mean", "Min", "Sum"}) {
      for (const std::int64_t inputs : {1, 2, 3, 5}) {
        std::vector<Tensor> all;
        for (std::int64_t i = 0; i < inputs; ++i) {
          const Shape shape = i % 2 == 0 ? Shape{2, 3, 3001} : Shape{3, 1};
          all.push_back(halves(dtype, shape, static_cast<std::uint64_t>(i), Values::kSpecial));
        }
        expect_equal_to_ref(of_type(name, 13, all));
      }
    }
  }
}

TEST(EqualityHalves, Softmax) {
  for (const DType dtype : kHalfTypes) {
    for (const std::string_view name : {"LogSoftmax", "Softmax"}) {
      for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
        for (const std::int64_t length : {1, 3, 31, 32, 33, 128, 1000}) {
          SCOPED_TRACE(fmt::format("{} {}", name, length));
          expect_equal_to_ref(of_type(name, 13, {halves(dtype, {2, 37, length}, 6, values)}));
        }
        for (const int opset : {11, 13}) {  // whole planes are rows; along a strided axis
          Case test = of_type(name, opset, {halves(dtype, {2, 21, 50}, 7, values)});
          test.attributes.set("axis", std::int64_t{1});
          expect_equal_to_ref(test);
        }
        expect_equal_to_ref(of_type(name, 13, {halves(dtype, {0, 5}, 7, values)}));
      }
    }
  }
}

TEST(EqualityHalves, Reductions) {
  constexpr std::string_view kNames[] = {"ReduceL1",        "ReduceL2",  "ReduceLogSum",
                                         "ReduceLogSumExp", "ReduceMax", "ReduceMean",
                                         "ReduceMin",       "ReduceSum", "ReduceSumSquare"};
  for (const DType dtype : kHalfTypes) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      for (const Shape& shape : {Shape{3, 5, 97}, Shape{2, 90, 7}, Shape{1, 1, 1}, Shape{0, 2, 3},
                                 Shape{2, 3, 0}, Shape{2, 1, 5000}}) {
        const Tensor x = halves(dtype, shape, 4, values);
        for (const std::string_view name : kNames) {
          SCOPED_TRACE(fmt::format("{} {}", name, shape.text()));
          for (const Ints& axes : {Ints{-1}, {1, 2}, {0, 1, 2}, {0}, {1}, {0, 2}}) {
            Case test = of_type(name, 12, {x});
            test.attributes.set("axes", axes);
            test.serves = shape.elements() > 0;
            expect_equal_to_ref(test);
          }
          Case identity = of_type(name, 18, {x, Tensor()});
          identity.attributes.set("noop_with_empty_axes", std::int64_t{1});
          identity.serves = false;
          expect_equal_to_ref(identity);
        }
      }
    }
  }
}

TEST(EqualityHalves, PlacesOfExtremes) {
  for (const DType dtype : kHalfTypes) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      const Tensor x = halves(dtype, {3, 50, 70}, 4, values);
      for (const std::string_view name : {"ArgMax", "ArgMin", "Hardmax"}) {
        for (const std::int64_t axis : {0, 1, 2}) {
          Case test = of_type(name, 13, {x});
          test.attributes.set("axis", axis);
          expect_equal_to_ref(test);
        }
      }
      Case last = of_type("ArgMax", 13, {x});
      last.attributes.set("select_last_index", std::int64_t{1});
      expect_equal_to_ref(last);
    }
  }
}

TEST(EqualityHalves, NormsOfGroups) {
  for (const DType dtype : kHalfTypes) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      const Tensor x = halves(dtype, {2, 5, 9, 70}, 4, values);
      for (const std::int64_t axis : {1, 3}) {
        for (const std::int64_t p : {1, 2}) {
          Case test = of_type("LpNormalization", 22, {x});
          test.attributes.set("axis", axis);
          test.attributes.set("p", p);
          expect_equal_to_ref(test);
        }
      }
      expect_equal_to_ref(of_type("MeanVarianceNormalization", 13, {x}));
      const Tensor scale = halves(dtype, {70}, 5, values);
      expect_equal_to_ref(of_type("RMSNormalization", 23, {x, scale}));
      const Tensor wide = random_tensor({70}, 5, values);
      expect_equal_to_ref(of_type("RMSNormalization", 23, {x, wide}));
      const Tensor none = halves(dtype, {0, 5}, 7, values);
      for (Case test : {of_type("RMSNormalization", 23, {random_tensor({3, 70}, 6), scale}),
                        of_type("LpNormalization", 13, {none}), of_type("Hardmax", 13, {none})}) {
        test.serves = false;  // wide beside narrow; nothing
        expect_equal_to_ref(test);
      }
    }
  }
}

TEST(EqualityHalves, TopK) {
  for (const DType dtype : kHalfTypes) {
    for (const std::int64_t k : {1, 7, 40}) {
      for (const std::int64_t largest : {0, 1}) {
        const Tensor count = Tensor::of<std::int64_t>({1}, std::span(&k, 1));
        for (const Shape& shape : {Shape{64, 1024}, Shape{1, 65536}}) {
          Case test = of_type("TopK", 11, {all_halves(dtype, shape), count});
          test.attributes.set("largest", largest);
          test.outputs = 2;
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
