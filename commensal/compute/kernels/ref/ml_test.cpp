// SPDX-License-Identifier: Apache-2.0
// The domain ai.onnx.ml but its trees: cases by hand, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <commensal/compute/kernels/testing/samples.hpp>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::Shape;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;
using Named = std::initializer_list<std::pair<const char*, Attribute>>;

const float kNan = std::nanf("");

Sample ml(const char* name, std::vector<Tensor> inputs, Named named, int outputs = 1,
          int opset = 1) {
  Attributes attributes;
  for (const auto& [attribute, value] : named) attributes.set(attribute, value);
  return {name, opset, std::move(inputs), attributes, outputs, "ai.onnx.ml"};
}
std::vector<Tensor> run(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value()) << inferred.error().message;
  return inferred ? made.run_ref() : std::vector<Tensor>(2);
}
std::string refusal(const Sample& sample) {
  SampleCall made(sample);
  const auto inferred = made.infer();
  return inferred ? "accepted" : inferred.error().message;
}
template <class T = float>
Tensor of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, values);
}

TEST(RefMl, LinearRegressorByHand) {
  const auto y = run(ml("LinearRegressor", {of({2, 2}, {1, 2, 3, 4})},
                        {{"coefficients", Reals{1, 10, 100, 1000}},
                         {"intercepts", Reals{0.5f, -0.5f}},
                         {"targets", std::int64_t{2}}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(21.5f, 2099.5f, 43.5f, 4299.5f));
  // 2^24 + 1 needs binary64, which float64 rows are summed in.
  const auto wide = run(ml("LinearRegressor", {of<double>({1, 3}, {16777216, 1, -16777216})},
                           {{"coefficients", Reals{1, 1, 1}}}));
  EXPECT_THAT(wide[0].data<float>(), ElementsAre(1));
  EXPECT_THAT(refusal(ml("LinearRegressor", {of({1, 2}, {1, 2})}, {{"coefficients", Reals{1}}})),
              HasSubstr("do not fit 2 features"));
  EXPECT_THAT(refusal(ml("LinearRegressor", {of({1, 1}, {1})},
                         {{"coefficients", Reals{1}}, {"targets", INT64_MAX}})),
              HasSubstr("do not fit"));
  EXPECT_THAT(refusal(ml("LinearRegressor", {of({1, 1, 1}, {1})}, {{"coefficients", Reals{1}}})),
              HasSubstr("[N, F] or [F]"));
}

TEST(RefMl, LinearClassifierTakesTheLargestScore) {
  auto y = run(ml("LinearClassifier", {of({2, 2}, {1, 2, -1, 0})},
                  {{"coefficients", Reals{1, 0, 0, 1, -1, -1}},
                   {"intercepts", Reals{0, 0, 0.5f}},
                   {"classlabels_ints", Ints{7, 8, 9}}},
                  2));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(8, 9));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(1, 2, -2.5f, -1, 0, 1.5f));
  // One score for two labels.
  y = run(ml("LinearClassifier", {of({2, 1}, {0, 2})},
             {{"coefficients", Reals{1}}, {"classlabels_strings", Texts{"no", "yes"}}}, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("no", "yes"));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(0, 0, -2, 2));
  EXPECT_THAT(refusal(ml("LinearClassifier", {of({1, 1}, {0})}, {{"coefficients", Reals{1, 2}}})),
              HasSubstr("must list the labels"));
  EXPECT_THAT(refusal(ml("LinearClassifier", {of({1, 1}, {0})},
                         {{"coefficients", Reals{1, 2}}, {"classlabels_ints", Ints{1, 2, 3}}})),
              HasSubstr("3 labels for 2 rows"));
}

TEST(RefMl, TransformsOfScores) {
  const auto scores = [](const char* transform, const Reals& x) {
    const auto count = static_cast<std::int64_t>(x.size());
    // One coefficient per score, all for the same feature.
    const auto y = run(
        ml("LinearRegressor", {of({1, 1}, {1})},
           {{"coefficients", x}, {"targets", count}, {"post_transform", std::string(transform)}}));
    return Reals(y[0].data<float>().begin(), y[0].data<float>().end());
  };
  const float e = std::exp(1.0f), sum = 1 + e + 1 / e;
  EXPECT_THAT(scores("SOFTMAX", {0, 1, -1}),
              ElementsAre(FloatNear(1 / sum, 1e-6f), FloatNear(e / sum, 1e-6f),
                          FloatNear(1 / e / sum, 1e-6f)));
  EXPECT_THAT(scores("SOFTMAX_ZERO", {0, 1, -1}),
              ElementsAre(0, FloatNear(1 / (1 + 1 / e / e), 1e-6f),
                          FloatNear(1 - 1 / (1 + 1 / e / e), 1e-6f)));
  EXPECT_THAT(scores("SOFTMAX_ZERO", {0, 0}), ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(scores("LOGISTIC", {0, 1}), ElementsAre(0.5f, FloatNear(e / (1 + e), 1e-6f)));
  // The quantiles of the normal distribution, as nearly as the approximation is.
  EXPECT_THAT(scores("PROBIT", {0.5f, 0.975f, 0.025f, 0, 1, 2}),
              ElementsAre(FloatNear(0, 1e-6f), FloatNear(1.96f, 0.005f), FloatNear(-1.96f, 0.005f),
                          -INFINITY, INFINITY, ::testing::IsNan()));
}

TEST(RefMl, MachinesByHand) {
  const auto regress = [](const char* kernel, Reals params) {
    return run(ml("SVMRegressor", {of({1, 2}, {1, 2})},
                  {{"kernel_type", std::string(kernel)},
                   {"kernel_params", std::move(params)},
                   {"support_vectors", Reals{1, 1, 0, -1}},
                   {"coefficients", Reals{2, -1}},
                   {"n_supports", std::int64_t{2}},
                   {"rho", Reals{0.5f}}}))[0]
        .data<float>()[0];
  };
  EXPECT_EQ(regress("LINEAR", {}), 2 * 3 - 1 * -2 + 0.5f);
  EXPECT_FLOAT_EQ(regress("POLY", {0.5f, 1, 3}), 2 * 2.5f * 2.5f * 2.5f - 0 + 0.5f);
  EXPECT_FLOAT_EQ(regress("RBF", {0.5f, 0, 0}), 2 * std::exp(-0.5f) - std::exp(-5.0f) + 0.5f);
  EXPECT_FLOAT_EQ(regress("SIGMOID", {0.5f, 1, 0}), 2 * std::tanh(2.5f) - 0 + 0.5f);
  const auto one_class =
      run(ml("SVMRegressor", {of({2, 1}, {1, -1})},
             {{"coefficients", Reals{1}}, {"rho", Reals{0}}, {"one_class", std::int64_t{1}}}));
  EXPECT_THAT(one_class[0].data<float>(), ElementsAre(1, -1));
}

// Three classes with one support vector each, in one dimension.
Sample three_classes(Named more, const Reals& rows) {
  Sample sample = ml("SVMClassifier", {of({static_cast<std::int64_t>(rows.size()), 1}, rows)},
                     {{"support_vectors", Reals{1, 10, 100}},
                      {"vectors_per_class", Ints{1, 1, 1}},
                      {"coefficients", Reals{1, 2, 3, 4, 5, 6}},
                      {"rho", Reals{0.5f, 0.25f, -1000}},
                      {"classlabels_ints", Ints{5, 6, 7}}},
                     2);
  for (const auto& [name, value] : more) sample.attributes.set(name, value);
  return sample;
}

TEST(RefMl, PairsOfClassesVote) {
  // Of the coefficients [2, 3], pair (0, 1) takes [0][0] and [0][1], (0, 2) takes [1][0] and
  // [0][2], (1, 2) takes [1][1] and [1][2].
  const auto y = run(three_classes({}, {1, -1}));
  EXPECT_THAT(y[1].data<float>(), ElementsAre(1 + 20 + 0.5f, 4 + 300 + 0.25f, 50 + 600 - 1000,
                                              -20.5f, -303.75f, -1650));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(5, 7));
}

// The probabilities that pairwise ones couple to satisfy the equations of the method.
TEST(RefMl, ProbabilitiesAreCoupled) {
  const auto y = run(three_classes(
      {{"prob_a", Reals{-0.01f, -0.005f, -0.002f}}, {"prob_b", Reals{0.1f, -0.2f, 0}}}, {1, -1}));
  const auto raw = run(three_classes({}, {1, -1}));
  for (std::size_t row = 0; row < 2; ++row) {
    const float* p = y[1].data<float>().data() + 3 * row;
    const float* s = raw[1].data<float>().data() + 3 * row;
    EXPECT_NEAR(p[0] + p[1] + p[2], 1, 1e-5);
    double r[3][3] = {};
    const double a[] = {-0.01, -0.005, -0.002}, b[] = {0.1, -0.2, 0};
    for (int i = 0, pair = 0; i < 3; ++i) {
      for (int j = i + 1; j < 3; ++j, ++pair) {
        r[i][j] = 1 / (1 + std::exp(s[pair] * a[pair] + b[pair]));
        r[j][i] = 1 - r[i][j];
      }
    }
    // At the optimum, (Qp)_t is the same for all t.
    double qp[3] = {};
    for (int t = 0; t < 3; ++t) {
      for (int j = 0; j < 3; ++j) {
        if (j != t) qp[t] += r[j][t] * r[j][t] * p[t] - r[j][t] * r[t][j] * p[j];
      }
    }
    EXPECT_NEAR(qp[0], qp[1], 0.005 / 3 * 2);
    EXPECT_NEAR(qp[0], qp[2], 0.005 / 3 * 2);
  }
}

TEST(RefMl, MachinesRefuseWhatDoesNotFit) {
  const auto refuse = [](const char* attribute, Attribute value) {
    return refusal(three_classes({{attribute, std::move(value)}}, {1}));
  };
  EXPECT_THAT(refuse("vectors_per_class", Ints{1, 1}), HasSubstr("2 entries for 3 labels"));
  EXPECT_THAT(refuse("vectors_per_class", Ints{1, -1, 3}), HasSubstr("has the entry -1"));
  EXPECT_THAT(refuse("vectors_per_class", Ints{INT64_MAX, INT64_MAX, 5}), HasSubstr("the entry"));
  EXPECT_THAT(refuse("vectors_per_class", Ints{1, 1, 2}), HasSubstr("expected 4 vectors"));
  EXPECT_THAT(refuse("coefficients", Reals{1}), HasSubstr("must have 6 entries"));
  EXPECT_THAT(refuse("rho", Reals{1}), HasSubstr("must have 3 entries"));
  EXPECT_THAT(refuse("prob_a", Reals{1, 2, 3}), HasSubstr("'prob_b' must have 3 entries"));
  EXPECT_THAT(refuse("kernel_type", std::string("COSINE")), HasSubstr("kernel_type"));
  EXPECT_THAT(refuse("kernel_params", Reals{1}), HasSubstr("gamma, coef0 and degree"));
}

TEST(RefMl, FeaturesByHand) {
  const Tensor x = of({2, 2}, {1, 2, 0, -4});
  auto y = run(ml("Scaler", {x}, {{"offset", Reals{1, 2}}, {"scale", Reals{3}}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0, 0, -3, -18));
  y = run(ml("Normalizer", {x}, {{"norm", std::string("L1")}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(1 / 3.0f, 2 / 3.0f, 0, -1));
  y = run(ml("Normalizer", {x}, {}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0.5f, 1, 0, -4));
  y = run(ml("Normalizer", {of({2}, {3, 4})}, {{"norm", std::string("L2")}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0.6f, 0.8f));
  y = run(ml("Binarizer", {of({3}, {0.5f, kNan, 0.75f})}, {{"threshold", 0.5f}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0, 0, 1));
  y = run(ml("Imputer", {of({2, 2}, {kNan, 1, 2, kNan})},
             {{"imputed_value_floats", Reals{7, 8}}, {"replaced_value_float", kNan}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(7, 1, 2, 8));
  y = run(ml("Imputer", {of<std::int32_t>({3}, {5, 6, 5})},
             {{"imputed_value_int64s", Ints{-1}}, {"replaced_value_int64", std::int64_t{5}}}));
  EXPECT_THAT(y[0].data<std::int32_t>(), ElementsAre(-1, 6, -1));
  y = run(ml("FeatureVectorizer",
             {of<std::int64_t>({2, 1}, {1, 2}), of<std::int64_t>({2, 2}, {3, 4, 5, 6})}, {}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(1, 3, 4, 2, 5, 6));
  EXPECT_THAT(refusal(ml("Imputer", {of<std::int32_t>({1}, {5})},
                         {{"imputed_value_int64s", Ints{std::int64_t{1} << 31}}})),
              HasSubstr("no int32"));
  EXPECT_THAT(refusal(ml("Imputer", {x}, {})), HasSubstr("imputed_value_floats"));
  EXPECT_THAT(refusal(ml("Scaler", {x}, {{"offset", Reals{}}})), HasSubstr("1 or 2 entries"));
  EXPECT_THAT(refusal(ml("FeatureVectorizer", {x}, {{"inputdimensions", Ints{-2}}})),
              ::testing::Not("accepted"));
  EXPECT_THAT(refusal(ml("FeatureVectorizer", {x, of({1, 1}, {1})}, {})), HasSubstr("1 rows"));
}

TEST(RefMl, EncodersByHand) {
  const Tensor words = Tensor::of_strings({3}, {"fig", "plum", ""});
  auto y = run(ml("LabelEncoder", {words},
                  {{"keys_strings", Texts{"plum", "fig", "fig"}}, {"values_int64s", Ints{5, 6, 7}}},
                  1, 2));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(6, 5, -1));
  y = run(ml("LabelEncoder", {of({4}, {kNan, -0.0f, 0, 3})},
             {{"keys_floats", Reals{kNan, 0}}, {"values_strings", Texts{"none", "zero"}}}, 1, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("none", "_Unused", "zero", "_Unused"));
  y = run(ml("LabelEncoder", {of<std::int64_t>({2}, {1, 2})},
             {{"keys_int64s", Ints{2}}, {"values_floats", Reals{0.5f}}}, 1, 2));
  EXPECT_TRUE(std::signbit(y[0].data<float>()[0]));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0, 0.5f));
  const Named classes = {{"classes_strings", Texts{"plum", "fig"}}};
  EXPECT_THAT(run(ml("LabelEncoder", {words}, classes))[0].data<std::int64_t>(),
              ElementsAre(1, 0, -1));
  EXPECT_THAT(run(ml("LabelEncoder", {of<std::int64_t>({3}, {1, 2, -1})}, classes))[0].strings(),
              ElementsAre("fig", "_Unused", "_Unused"));
  y = run(ml("CategoryMapper", {words},
             {{"cats_strings", Texts{"fig"}},
              {"cats_int64s", Ints{9}},
              {"default_int64", std::int64_t{4}}}));
  EXPECT_THAT(y[0].data<std::int64_t>(), ElementsAre(9, 4, 4));
  y = run(ml("OneHotEncoder", {of({2}, {2.75f, 9})}, {{"cats_int64s", Ints{1, 2}}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0, 1, 0, 0));
  y = run(ml("OneHotEncoder", {words}, {{"cats_strings", Texts{"plum", "fig"}}}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(0, 1, 1, 0, 0, 0));
  y = run(ml("ArrayFeatureExtractor",
             {of({2, 3}, {1, 2, 3, 4, 5, 6}), of<std::int64_t>({1, 2}, {2, 0})}, {}));
  EXPECT_THAT(y[0].data<float>(), ElementsAre(3, 1, 6, 4));
}

TEST(RefMl, EncodersRefuseWhatDoesNotFit) {
  const Tensor words = Tensor::of_strings({1}, {"fig"});
  EXPECT_THAT(refusal(ml("LabelEncoder", {words},
                         {{"keys_strings", Texts{"a"}}, {"values_int64s", Ints{1, 2}}}, 1, 2)),
              HasSubstr("1 keys for 2 values"));
  EXPECT_THAT(refusal(ml("LabelEncoder", {words},
                         {{"keys_int64s", Ints{1}}, {"values_int64s", Ints{1}}}, 1, 2)),
              HasSubstr("input 0 is string, the keys are int64"));
  EXPECT_THAT(refusal(ml("LabelEncoder", {words}, {{"keys_strings", Texts{"a"}}}, 1, 2)),
              HasSubstr("0 lists 'values_*'"));
  EXPECT_THAT(refusal(ml("LabelEncoder", {words},
                         {{"keys_strings", Texts{"a"}},
                          {"values_int64s", Ints{1}},
                          {"default_tensor", of({1}, {1})}},
                         1, 4)),
              HasSubstr("must be one int64"));
  EXPECT_THAT(refusal(ml("OneHotEncoder", {words},
                         {{"cats_strings", Texts{"plum"}}, {"zeros", std::int64_t{0}}})),
              HasSubstr("element 0 is of no category"));
  EXPECT_THAT(refusal(ml("OneHotEncoder", {words}, {{"cats_int64s", Ints{1}}})),
              HasSubstr("the categories are not"));
  EXPECT_THAT(refusal(ml("ArrayFeatureExtractor", {of({1}, {1}), of<std::int64_t>({1}, {1})}, {})),
              HasSubstr("index 1 is not within"));
  EXPECT_THAT(refusal(ml("ArrayFeatureExtractor", {of({1}, {1}), of<std::int64_t>({1}, {-1})}, {})),
              HasSubstr("index -1"));
}

}  // namespace
}  // namespace commensal::kernels
