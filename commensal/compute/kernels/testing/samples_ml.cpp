// SPDX-License-Identifier: Apache-2.0
// Samples of the domain ai.onnx.ml.
#include <commensal/compute/kernels/testing/samples_domains.hpp>
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::Named;
using make::Shape;
using make::with;
using Ints = std::vector<std::int64_t>;
using Reals = std::vector<float>;
using Texts = std::vector<std::string>;

// Values in [-3, 3), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 17, stream);
}
Reals reals(std::int64_t count, std::uint64_t stream) {
  const Tensor made = f32({count}, stream);
  return {made.data<float>().begin(), made.data<float>().end()};
}
template <class T>
Tensor list(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

Sample ml(const char* name, int opset, std::vector<Tensor> inputs, Attributes attributes,
          int outputs = 1) {
  return {name, opset, std::move(inputs), std::move(attributes), outputs, "ai.onnx.ml"};
}

// Two trees over features 0 to 2: a split above another one, and a single split.
Attributes nodes(Named more) {
  Attributes made = with({
      {"nodes_treeids", Ints{0, 0, 0, 0, 0, 1, 1, 1}},
      {"nodes_nodeids", Ints{0, 1, 2, 3, 4, 0, 1, 2}},
      {"nodes_featureids", Ints{0, 1, 0, 0, 0, 2, 0, 0}},
      {"nodes_modes",
       Texts{"BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"}},
      {"nodes_truenodeids", Ints{1, 3, 0, 0, 0, 2, 0, 0}},
      {"nodes_falsenodeids", Ints{2, 4, 0, 0, 0, 1, 0, 0}},
      {"nodes_missing_value_tracks_true", Ints{0, 1, 0, 0, 0, 0, 0, 0}},
      {"nodes_values", Reals{0.5f, -1.0f, 0, 0, 0, 0.25f, 0, 0}},
  });
  for (const auto& [name, value] : more) made.set(name, value);
  return made;
}

void add_trees(std::vector<Sample>& s) {
  for (const char* how : {"SUM", "AVERAGE", "MIN", "MAX"}) {
    s.push_back(ml("TreeEnsembleRegressor", 3, {f32({5, 3})},
                   nodes({{"target_treeids", Ints{0, 0, 0, 0, 1, 1}},
                          {"target_nodeids", Ints{2, 3, 3, 4, 1, 2}},
                          {"target_ids", Ints{0, 0, 1, 1, 0, 1}},
                          {"target_weights", reals(6, 1)},
                          {"n_targets", std::int64_t{2}},
                          {"base_values", Reals{0.5f, -0.25f}},
                          {"aggregate_function", std::string(how)}})));
  }
  for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}) {
    s.push_back(ml("TreeEnsembleClassifier", 1, {f32({4, 3})},
                   nodes({{"class_treeids", Ints{0, 0, 0, 1, 1, 1}},
                          {"class_nodeids", Ints{2, 3, 4, 1, 1, 2}},
                          {"class_ids", Ints{0, 1, 2, 0, 1, 2}},
                          {"class_weights", Reals{0.3f, 0.4f, 0.2f, 0.1f, 0.25f, 0.0f}},
                          {"classlabels_int64s", Ints{7, 5, 9}},
                          {"post_transform", std::string(transform)}}),
                   2));
    s.push_back(ml("TreeEnsembleClassifier", 3, {f32({4, 3})},
                   nodes({{"class_treeids", Ints{0, 0, 0, 1, 1}},
                          {"class_nodeids", Ints{2, 3, 4, 1, 2}},
                          {"class_ids", Ints{0, 0, 0, 0, 0}},
                          {"class_weights", Reals{0.3f, 0.4f, -0.2f, 0.1f, 0.5f}},
                          {"classlabels_strings", Texts{"no", "yes"}},
                          {"post_transform", std::string(transform)}}),
                   2));
  }
  for (const std::int64_t transform : {0, 1, 2}) {
    s.push_back(ml("TreeEnsemble", 5, {f32({5, 3})},
                   with({{"nodes_featureids", Ints{0, 1, 2}},
                         {"nodes_modes", list<std::uint8_t>({0, 3, 6})},
                         {"nodes_splits", list<float>({0.5f, -1.0f, 0.0f})},
                         {"nodes_truenodeids", Ints{1, 1, 3}},
                         {"nodes_falsenodeids", Ints{0, 2, 0}},
                         {"nodes_trueleafs", Ints{0, 1, 1}},
                         {"nodes_falseleafs", Ints{1, 1, 1}},
                         {"membership_values", list<float>({1.5f, -0.5f, std::nanf("")})},
                         {"leaf_targetids", Ints{0, 1, 0, 1}},
                         {"leaf_weights", list<float>({0.5f, 1.5f, -2.0f, 3.0f})},
                         {"tree_roots", Ints{0, 2}},
                         {"post_transform", transform},
                         {"n_targets", std::int64_t{2}}})));
  }
}

void add_linear(std::vector<Sample>& s) {
  s.push_back(ml("LinearRegressor", 1, {f32({4, 5})},
                 with({{"coefficients", reals(10, 1)},
                       {"intercepts", reals(2, 2)},
                       {"targets", std::int64_t{2}}})));
  for (const char* transform : {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"}) {
    s.push_back(ml("LinearClassifier", 1, {f32({4, 5})},
                   with({{"coefficients", reals(15, 1)},
                         {"intercepts", reals(3, 2)},
                         {"classlabels_ints", Ints{3, 1, 2}},
                         {"post_transform", std::string(transform)}}),
                   2));
  }
  s.push_back(ml("LinearClassifier", 1, {f32({5})},
                 with({{"coefficients", reals(5, 1)}, {"classlabels_strings", Texts{"a", "b"}}}),
                 2));
}

void add_machines(std::vector<Sample>& s) {
  for (const char* kernel : {"LINEAR", "POLY", "RBF", "SIGMOID"}) {
    const Attributes shared = with({{"kernel_type", std::string(kernel)},
                                    {"kernel_params", Reals{0.25f, 0.5f, 2.0f}},
                                    {"support_vectors", reals(12, 1)}});
    Attributes regressor = shared;
    regressor.set("n_supports", std::int64_t{4});
    regressor.set("coefficients", reals(4, 2));
    regressor.set("rho", Reals{0.5f});
    s.push_back(ml("SVMRegressor", 1, {f32({3, 3})}, regressor));
    Attributes classifier = shared;
    classifier.set("vectors_per_class", Ints{1, 2, 1});
    classifier.set("coefficients", reals(8, 2));
    classifier.set("rho", reals(3, 3));
    classifier.set("classlabels_ints", Ints{4, 6, 8});
    s.push_back(ml("SVMClassifier", 1, {f32({3, 3})}, classifier, 2));
    classifier.set("prob_a", Reals{-1.5f, -1.0f, -2.0f});
    classifier.set("prob_b", Reals{0.1f, 0.0f, -0.1f});
    s.push_back(ml("SVMClassifier", 1, {f32({3, 3})}, classifier, 2));
  }
  s.push_back(ml("SVMClassifier", 1, {f32({3, 3})},
                 with({{"coefficients", reals(6, 2)},
                       {"rho", Reals{0.25f}},
                       {"classlabels_strings", Texts{"x", "y"}}}),
                 2));
}

void add_features(std::vector<Sample>& s) {
  const Tensor words = Tensor::of_strings({2, 2}, {"fig", "pear", "plum", "fig"});
  const Tensor numbers = Tensor::of<std::int64_t>({2, 2}, Ints{3, 1, 2, 3});
  s.push_back(ml("ArrayFeatureExtractor", 1, {f32({2, 3, 4}), list<std::int64_t>({3, 0, 3})}, {}));
  s.push_back(ml("ArrayFeatureExtractor", 1, {f32({4}), list<std::int64_t>({2})}, {}));
  s.push_back(ml("Binarizer", 1, {f32({3, 4})}, with({{"threshold", 0.5f}})));
  s.push_back(ml("FeatureVectorizer", 1, {f32({2, 3}), f32({2, 4}, 1), f32({2, 1}, 2)},
                 with({{"inputdimensions", Ints{3, 2, 3}}})));
  s.push_back(ml("FeatureVectorizer", 1, {f32({3}), f32({2}, 1)}, {}));
  s.push_back(ml("Imputer", 1, {f32({3, 4})},
                 with({{"imputed_value_floats", reals(4, 1)},
                       {"replaced_value_float", std::nanf("")},
                       {"imputed_value_int64s", Ints{5}},
                       {"replaced_value_int64", std::int64_t{1}}})));
  for (const char* norm : {"MAX", "L1", "L2"}) {
    s.push_back(ml("Normalizer", 1, {f32({3, 40})}, with({{"norm", std::string(norm)}})));
  }
  s.push_back(
      ml("Scaler", 1, {f32({2, 3, 4})}, with({{"offset", reals(4, 1)}, {"scale", Reals{1.5f}}})));
  s.push_back(ml("OneHotEncoder", 1, {f32({2, 3})}, with({{"cats_int64s", Ints{1, -1, 2, 1}}})));
  s.push_back(ml("OneHotEncoder", 1, {words}, with({{"cats_strings", Texts{"plum", "fig"}}})));
  const Attributes classes = with({{"classes_strings", Texts{"plum", "fig"}}});
  s.push_back(ml("LabelEncoder", 1, {words}, classes));
  s.push_back(ml("LabelEncoder", 1, {numbers}, classes));
  s.push_back(
      ml("LabelEncoder", 2, {words},
         with({{"keys_strings", Texts{"fig", "plum"}}, {"values_floats", Reals{0.5f, 2.5f}}})));
  s.push_back(ml("LabelEncoder", 4, {numbers},
                 with({{"keys_tensor", list<std::int64_t>({1, 3})},
                       {"values_tensor", list<std::int16_t>({-7, 9})}})));
  const Attributes categories =
      with({{"cats_strings", Texts{"fig", "plum"}}, {"cats_int64s", Ints{3, 1}}});
  s.push_back(ml("CategoryMapper", 1, {words}, categories));
  s.push_back(ml("CategoryMapper", 1, {numbers}, categories));
}

}  // namespace

std::vector<Sample> ml_samples() {
  std::vector<Sample> samples;
  add_trees(samples);
  add_linear(samples);
  add_machines(samples);
  add_features(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
