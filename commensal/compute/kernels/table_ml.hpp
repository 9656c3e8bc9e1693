// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/ml_ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// The domain ai.onnx.ml. CastMap, DictVectorizer and ZipMap take or make maps, which are not here.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kMlRows[] = {
    {.name = "ArrayFeatureExtractor", .domain = kMl, .inputs = {2, 2}, .kind = Kind::kMovement,
     .judge = &ref::kArrayFeatureExtractor, .strings = Strings::kCodes},
    {.name = "Binarizer", .domain = kMl, .judge = &ref::kBinarizer},
    {.name = "CategoryMapper", .domain = kMl, .judge = &ref::kCategoryMapper,
     .strings = Strings::kOwn},
    {.name = "FeatureVectorizer", .domain = kMl, .inputs = {1, kMany},
     .judge = &ref::kFeatureVectorizer},
    {.name = "Imputer", .domain = kMl, .judge = &ref::kImputer},
    {.name = "LabelEncoder", .domain = kMl, .until = 1, .judge = &ref::kLabelEncoder1,
     .strings = Strings::kOwn},
    {.name = "LabelEncoder", .domain = kMl, .since = 2, .judge = &ref::kLabelEncoder,
     .strings = Strings::kOwn},
    {.name = "LinearClassifier", .domain = kMl, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kLinearClassifier, .strings = Strings::kOwn},
    {.name = "LinearRegressor", .domain = kMl, .kind = Kind::kDotProduct,
     .judge = &ref::kLinearRegressor},
    {.name = "Normalizer", .domain = kMl, .kind = Kind::kReduction, .judge = &ref::kNormalizer,
     .cost = cost::passes},
    {.name = "OneHotEncoder", .domain = kMl, .judge = &ref::kOneHotEncoder,
     .strings = Strings::kOwn},
    {.name = "SVMClassifier", .domain = kMl, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kSvmClassifier, .strings = Strings::kOwn},
    {.name = "SVMRegressor", .domain = kMl, .kind = Kind::kReduction,
     .judge = &ref::kSvmRegressor},
    {.name = "Scaler", .domain = kMl, .judge = &ref::kScaler},
    {.name = "TreeEnsemble", .domain = kMl, .since = 5, .kind = Kind::kReduction,
     .judge = &ref::kTreeEnsemble},
    {.name = "TreeEnsembleClassifier", .domain = kMl, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kTreeEnsembleClassifier, .strings = Strings::kOwn},
    {.name = "TreeEnsembleRegressor", .domain = kMl, .kind = Kind::kReduction,
     .judge = &ref::kTreeEnsembleRegressor},
};
// clang-format on

}  // namespace commensal::kernels
