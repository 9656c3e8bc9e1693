// SPDX-License-Identifier: Apache-2.0
// What ONNX's own tests do not ask of the operators of opsets 17 to 24: values that are known, and
// calls that must be refused.
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/kernels/testing/samples.hpp>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::Shape;
using List = std::vector<std::int64_t>;
using Row = std::vector<float>;
using Named = std::initializer_list<std::pair<const char*, Attribute>>;

Attributes with(Named named) {
  Attributes made;
  for (const auto& [name, value] : named) made.set(name, value);
  return made;
}
Tensor f32(const Shape& shape, const Row& values) { return Tensor::of<float>(shape, values); }
Tensor zeros(const Shape& shape) {
  return f32(shape, Row(static_cast<std::size_t>(shape.elements())));
}
// 1, 2, 3, ...
Tensor counted(const Shape& shape) {
  Row values;
  for (std::int64_t i = 1; i <= shape.elements(); ++i) values.push_back(static_cast<float>(i));
  return f32(shape, values);
}
template <class T>
Tensor scalar(T value) {
  return Tensor::of<T>({}, std::span<const T>(&value, 1));
}
Tensor list(const List& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}
Tensor yes() {
  const std::uint8_t byte = 1;
  return Tensor::copy_of({tensor::DType::kBool, {}}, {&byte, 1});
}

std::vector<Tensor> outputs_of(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value()) << inferred.error().message;
  return inferred ? made.run_ref() : std::vector<Tensor>();
}
Row values_of(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}
Row first_of(const Sample& sample) { return values_of(outputs_of(sample).at(0)); }

TEST(KnownValues, MaxRoiPoolTakesTheExtremeOfEachBin) {
  const Tensor regions = f32({2, 5}, {0, 1, 0, 2, 3, 0, 8, 8, 9, 9});
  const Row expected = {6, 7, 14, 15, 0, 0, 0, 0};  // the second region lies outside
  EXPECT_EQ(first_of({"MaxRoiPool",
                      1,
                      {counted({1, 1, 4, 4}), regions},
                      with({{"pooled_shape", List{2, 2}}})}),
            expected);
}

TEST(KnownValues, PoolsAndNormsByP) {
  const Tensor x = f32({1, 1, 2, 2}, {1, -2, 3, -4});
  EXPECT_EQ(first_of({"GlobalLpPool", 2, {x}, with({{"p", std::int64_t{1}}})}), Row{10});
  EXPECT_EQ(first_of({"GlobalLpPool", 2, {f32({1, 1, 2}, {3, -4})}}), Row{5});
  const Row normal = first_of({"LpNormalization", 1, {f32({2, 2}, {3, -4, 0, 0})}});
  EXPECT_EQ(normal[1], -0.8f);
  EXPECT_TRUE(std::isnan(normal[2]));  // 0 / 0, as ONNX's own tests have it
}

TEST(KnownValues, BatchNormalizationTrainsBeforeOpset14) {
  const Tensor x = f32({2, 2}, {1, 10, 3, 30}), one = f32({2}, {1, 1}), zero = zeros({2});
  const auto made = outputs_of({"BatchNormalization",
                                9,
                                {x, one, zero, f32({2}, {10, 20}), f32({2}, {1, 1})},
                                with({{"momentum", 0.5f}, {"epsilon", 0.0f}}),
                                5});
  ASSERT_EQ(made.size(), 5);
  EXPECT_EQ(values_of(made[0]), (Row{-1, -1, 1, 1}));
  EXPECT_EQ(values_of(made[1]), (Row{6, 20}));
  EXPECT_EQ(values_of(made[2]), (Row{1, 50.5f}));
  EXPECT_EQ(values_of(made[3]), (Row{2, 20}));
  EXPECT_EQ(values_of(made[4]), (Row{1, 100}));
}

TEST(KnownValues, DropoutScalesWhatItsMaskKeeps) {
  const Tensor x = counted({1000});
  const auto draw = [&](std::int64_t seed) {
    return outputs_of({"Dropout", 13, {x, scalar(0.75f), yes()}, with({{"seed", seed}}), 2});
  };
  const auto made = draw(7), other = draw(7 + (std::int64_t{1} << 32));
  int kept = 0, differ = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    const bool keeps = made[1].data<bool>()[i];
    kept += keeps ? 1 : 0;
    differ += keeps != other[1].data<bool>()[i] ? 1 : 0;
    EXPECT_EQ(made[0].data<float>()[i], keeps ? 4 * x.data<float>()[i] : 0.0f);
  }
  EXPECT_NEAR(kept, 250, 60);
  EXPECT_GT(differ, 200);  // the upper half of the seed counts
}

TEST(KnownValues, DftIsUndoneByItsInverse) {
  const Tensor x = counted({1, 7, 2});
  const Attributes at = with({{"axis", std::int64_t{1}}});
  const Tensor there = outputs_of({"DFT", 17, {x}, at}).at(0);
  const Row back = first_of(
      {"DFT", 17, {there}, with({{"axis", std::int64_t{1}}, {"inverse", std::int64_t{1}}})});
  for (std::size_t i = 0; i < back.size(); ++i) EXPECT_NEAR(back[i], x.data<float>()[i], 1e-5f);
}

TEST(KnownValues, AttentionToOneKeyIsItsValue) {
  const Tensor v = f32({1, 1, 1, 3}, {0.1f, -7, 2});
  EXPECT_EQ(first_of({"Attention", 23, {counted({1, 1, 1, 2}), counted({1, 1, 1, 2}), v}}),
            values_of(v));
  // Causal: the first query sees the first key alone.
  const Tensor two = counted({1, 1, 2, 1});
  const Row y =
      first_of({"Attention", 23, {two, two, two}, with({{"is_causal", std::int64_t{1}}})});
  EXPECT_EQ(y[0], 1);
  EXPECT_GT(y[1], 1);
}

TEST(KnownValues, TensorScatterGoesRoundInACircle) {
  const Row expected = {10, 2, 3, 4, 20, 30};
  EXPECT_EQ(first_of({"TensorScatter",
                      24,
                      {counted({1, 6, 1}), f32({1, 3, 1}, {20, 30, 10}), list({4})},
                      with({{"mode", std::string("circular")}})}),
            expected);
}

void expect_refused(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  ASSERT_FALSE(inferred.has_value()) << sample.name;
  EXPECT_EQ(inferred.error().message.find('\n'), std::string::npos) << sample.name;
}

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

TEST(KnownValues, RefusesSpectraThatMakeNoSense) {
  const Tensor x = zeros({1, 8, 1}), step = scalar<std::int64_t>(1);
  for (const std::int64_t n : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{9}, kHuge}) {
    expect_refused({"STFT", 17, {x, step, Tensor(), scalar(n)}});
    if (n != 9) expect_refused({"DFT", 17, {x, scalar(n)}});
  }
  expect_refused({"STFT", 17, {x, step}});
  expect_refused({"STFT", 17, {x, scalar<std::int64_t>(0), zeros({4})}});
  expect_refused({"STFT", 17, {x, step, zeros({4}), scalar<std::int64_t>(5)}});
  expect_refused({"DFT", 17, {zeros({1, 8, 3})}});
  expect_refused({"DFT", 17, {x}, with({{"axis", std::int64_t{-1}}})});
  expect_refused({"DFT", 17, {zeros({1, 8, 2})}, with({{"onesided", std::int64_t{1}}})});
  for (const std::int64_t size : {std::int64_t{0}, kHuge}) {
    expect_refused({"HannWindow", 17, {scalar(size)}});
  }
  expect_refused({"Col2Im", 18, {zeros({1, 4, 5}), list({4, 4}), list({2, 2})}});
  expect_refused({"Col2Im", 18, {zeros({1, 3, 9}), list({4, 4}), list({2, 2})}});
  expect_refused({"Col2Im", 18, {zeros({1, 4, 9}), list({kHuge, 4}), list({2, 2})}});
}

TEST(KnownValues, RefusesPlacesThatAreNotThere) {
  const Tensor cache = zeros({2, 4, 1}), update = zeros({2, 2, 1});
  for (const List& writes : {List{3, 0}, List{-1, 0}, List{0}}) {
    expect_refused({"TensorScatter", 24, {cache, update, list(writes)}});
  }
  expect_refused({"TensorScatter", 24, {cache, zeros({2, 5, 1})}});
  const Tensor x = zeros({1, 2, 1, 4}), table = zeros({5, 2});
  for (const std::int64_t position : {std::int64_t{5}, std::int64_t{-1}}) {
    const Tensor at = Tensor::of<std::int64_t>({1, 1}, List{position});
    expect_refused({"RotaryEmbedding", 23, {x, table, table, at}});
  }
  expect_refused({"RotaryEmbedding", 23, {zeros({1, 1, 6}), table, table}});
  expect_refused({"MaxRoiPool",
                  1,
                  {zeros({1, 1, 4, 4}), f32({1, 5}, {1, 0, 0, 2, 2})},
                  with({{"pooled_shape", List{2, 2}}})});
  expect_refused({"AffineGrid", 20, {zeros({1, 2, 3}), list({1, 1, -2, 3})}});
  expect_refused({"CenterCropPad", 18, {zeros({4, 4}), list({-1, 4})}});
  expect_refused(
      {"DeformConv", 19, {zeros({1, 1, 3, 3}), zeros({1, 1, 2, 2}), zeros({1, 8, 3, 3})}});
}

TEST(KnownValues, RefusesNormsAndHeadsThatDoNotFit) {
  const Tensor x = zeros({2, 6, 3});
  expect_refused({"GroupNormalization",
                  21,
                  {x, zeros({6}), zeros({6})},
                  with({{"num_groups", std::int64_t{4}}})});
  expect_refused({"RMSNormalization", 23, {x, zeros({6, 3})}});
  expect_refused({"LpNormalization", 22, {x}, with({{"p", std::int64_t{3}}})});
  for (const float ratio : {1.0f, -0.5f, NAN}) {
    expect_refused({"Dropout", 13, {x, scalar(ratio), yes()}});
  }
  const Tensor q = zeros({1, 3, 2, 4}), k = zeros({1, 2, 2, 4});
  expect_refused({"Attention", 23, {q, k, k}});
  expect_refused({"Attention", 23, {x, x, x}});
  expect_refused({"Attention", 23, {q, q, q, zeros({3, 2})}});
  expect_refused({"Attention", 23, {q, q, q, Tensor(), q}});
  expect_refused({"Attention", 24, {q, q, q, Tensor(), Tensor(), Tensor(), list({3})}});
}

}  // namespace
}  // namespace commensal::kernels
