// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers of the domain ai.onnx.ml, as ops.hpp does.
namespace commensal::kernels::ref {

// ml_encode.cpp
extern const Judge kArrayFeatureExtractor;
extern const Judge kCategoryMapper;
extern const Judge kLabelEncoder;
extern const Judge kLabelEncoder1;
extern const Judge kOneHotEncoder;

// ml_features.cpp
extern const Judge kBinarizer;
extern const Judge kFeatureVectorizer;
extern const Judge kImputer;
extern const Judge kNormalizer;
extern const Judge kScaler;

// ml_linear.cpp
extern const Judge kLinearClassifier;
extern const Judge kLinearRegressor;

// ml_svm.cpp
extern const Judge kSvmClassifier;
extern const Judge kSvmRegressor;

// ml_trees.cpp
extern const Judge kTreeEnsemble;
extern const Judge kTreeEnsembleClassifier;
extern const Judge kTreeEnsembleRegressor;

}  // namespace commensal::kernels::ref
