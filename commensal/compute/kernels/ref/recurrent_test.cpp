// SPDX-License-Identifier: Apache-2.0
// Recurrent, training and random operators by hand-computed cases.
#include <gtest/gtest.h>

#include <commensal/compute/kernels/testing/samples.hpp>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::Shape;
using List = std::vector<std::int64_t>;

Tensor f32(const Shape& shape, std::vector<float> values) {
  return Tensor::of<float>(shape, values);
}
std::vector<float> values(const Tensor& tensor) {
  return {tensor.data<float>().begin(), tensor.data<float>().end()};
}
std::vector<Tensor> run(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value());
  return made.run_ref();
}

Sample relu_rnn(const char* direction, std::int32_t length) {
  Sample made{"RNN",
              14,
              {f32({3, 1, 1}, {1, 2, 4}), f32({1, 1, 1}, {0.5f}), f32({1, 1, 1}, {0.25f}), Tensor(),
               Tensor::of<std::int32_t>({1}, std::span(&length, 1))},
              {},
              2};
  made.attributes.set("activations", std::vector<std::string>{"Relu"});
  made.attributes.set("direction", std::string(direction));
  return made;
}

TEST(Recurrent, CarriesTheStateForwards) {
  const auto y = run(relu_rnn("forward", 3));
  EXPECT_EQ(values(y[0]), (std::vector<float>{0.5f, 1.125f, 2.28125f}));
  EXPECT_EQ(values(y[1]), std::vector<float>{2.28125f});
}

TEST(Recurrent, ReversesWithinTheLength) {
  const auto y = run(relu_rnn("reverse", 2));
  EXPECT_EQ(values(y[0]), (std::vector<float>{0.75f, 1, 0}));
  EXPECT_EQ(values(y[1]), std::vector<float>{0.75f});
}

TEST(Recurrent, RefusesALengthBeyondTheSequence) {
  SampleCall made(relu_rnn("forward", 4));
  const auto inferred = made.infer();
  ASSERT_FALSE(inferred);
  EXPECT_EQ(inferred.error().message, "sequence_lens has 4, expected 0 to 3");
}

TEST(Training, MomentumDampsFromTheFirstStep) {
  const auto after = [](std::int64_t t, const char* mode) {
    Sample made{"Momentum",
                1,
                {f32({}, {0.5f}), Tensor::of<std::int64_t>({}, std::span(&t, 1)), f32({1}, {1}),
                 f32({1}, {2}), f32({1}, {3})},
                {},
                2,
                "ai.onnx.preview.training"};
    made.attributes.set("alpha", 0.5f);
    made.attributes.set("beta", 0.25f);
    made.attributes.set("mode", std::string(mode));
    const auto y = run(made);
    return std::pair(values(y[0])[0], values(y[1])[0]);
  };
  EXPECT_EQ(after(0, "standard"), std::pair(-0.75f, 3.5f));
  EXPECT_EQ(after(1, "standard"), std::pair(0.0f, 2.0f));
  EXPECT_EQ(after(1, "nesterov"), std::pair(-0.5f, 2.0f));
}

Sample draw(const char* name, float seed) {
  Sample made{name, 1, {}};
  made.attributes.set("shape", List{4096});
  made.attributes.set("seed", seed);
  return made;
}

std::pair<double, double> mean_and_variance(const std::vector<float>& draws) {
  double sum = 0, squares = 0;
  for (const float x : draws) sum += x, squares += double{x} * x;
  const double mean = sum / static_cast<double>(draws.size());
  return {mean, squares / static_cast<double>(draws.size()) - mean * mean};
}

TEST(Random, DrawsFollowTheSeedAndTheLaw) {
  for (const char* name : {"RandomNormal", "RandomUniform"}) {
    EXPECT_EQ(values(run(draw(name, 1))[0]), values(run(draw(name, 1))[0]));
    EXPECT_NE(values(run(draw(name, 1))[0]), values(run(draw(name, 2))[0]));
  }
  const auto [mean, variance] = mean_and_variance(values(run(draw("RandomNormal", 3))[0]));
  EXPECT_NEAR(mean, 0, 0.06);
  EXPECT_NEAR(variance, 1, 0.1);
  const auto [middle, spread] = mean_and_variance(values(run(draw("RandomUniform", 3))[0]));
  EXPECT_NEAR(middle, 0.5, 0.02);
  EXPECT_NEAR(spread, 1.0 / 12, 0.01);
}

TEST(Random, CertainOutcomesAreCertain) {
  const auto hits = run({"Bernoulli", 15, {f32({4}, {0, 1, 0, 1})}});
  EXPECT_EQ(values(hits[0]), (std::vector<float>{0, 1, 0, 1}));
  const auto picked = run({"Multinomial", 7, {f32({2, 3}, {0, 200, 0, 200, 0, 0})}});
  EXPECT_EQ(picked[0].data<std::int32_t>()[0], 1);
  EXPECT_EQ(picked[0].data<std::int32_t>()[1], 0);
}

}  // namespace
}  // namespace commensal::kernels
