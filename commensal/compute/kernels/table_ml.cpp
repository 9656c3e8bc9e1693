// SPDX-License-Identifier: Apache-2.0
// The domain ai.onnx.ml. CastMap, DictVectorizer and ZipMap take or make maps, which are not here.
#include <commensal/base/core/limits.hpp>
#include <commensal/compute/kernels/ref/ml_ops.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {
namespace {

constexpr std::string_view kDomain = "ai.onnx.ml";

Row ml_row(std::string_view name, int since, int until, int outputs, Kind kind,
           ref::Columns columns, Strings strings = Strings::kRefused) {
  return {name, since, until, 1, 1, outputs, kind, columns, {}, kDomain, strings};
}

}  // namespace

std::vector<Row> ml_rows() {
  constexpr auto kEach = Kind::kElementwise;
  constexpr auto kFold = Kind::kReduction;
  constexpr auto kOwn = Strings::kOwn;
  Row extractor =
      ml_row("ArrayFeatureExtractor", 1, 0, 1, Kind::kMovement, ref::array_feature_extractor());
  extractor.inputs_min = extractor.inputs_max = 2;
  Row vectorizer = ml_row("FeatureVectorizer", 1, 0, 1, kEach, ref::feature_vectorizer());
  vectorizer.inputs_max = limits::kNodeInputsMax;
  // name, since, until, outputs, kind, ref columns, strings
  return {
      extractor,
      ml_row("Binarizer", 1, 0, 1, kEach, ref::binarizer()),
      ml_row("CategoryMapper", 1, 0, 1, kEach, ref::category_mapper(), kOwn),
      vectorizer,
      ml_row("Imputer", 1, 0, 1, kEach, ref::imputer()),
      ml_row("LabelEncoder", 1, 1, 1, kEach, ref::label_encoder_1(), kOwn),
      ml_row("LabelEncoder", 2, 0, 1, kEach, ref::label_encoder(), kOwn),
      ml_row("LinearClassifier", 1, 0, 2, kFold, ref::linear_classifier(), kOwn),
      ml_row("LinearRegressor", 1, 0, 1, Kind::kDotProduct, ref::linear_regressor()),
      ml_row("Normalizer", 1, 0, 1, kFold, ref::normalizer()),
      ml_row("OneHotEncoder", 1, 0, 1, kEach, ref::one_hot_encoder(), kOwn),
      ml_row("SVMClassifier", 1, 0, 2, kFold, ref::svm_classifier(), kOwn),
      ml_row("SVMRegressor", 1, 0, 1, kFold, ref::svm_regressor()),
      ml_row("Scaler", 1, 0, 1, kEach, ref::scaler()),
      ml_row("TreeEnsemble", 5, 0, 1, kFold, ref::tree_ensemble()),
      ml_row("TreeEnsembleClassifier", 1, 0, 2, kFold, ref::tree_ensemble_classifier(), kOwn),
      ml_row("TreeEnsembleRegressor", 1, 0, 1, kFold, ref::tree_ensemble_regressor()),
  };
}

}  // namespace commensal::kernels
