// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers of the domain ai.onnx.ml, as ops.hpp does.
namespace commensal::kernels::ref {

// ml_encode.cpp
Columns array_feature_extractor();
Columns category_mapper();
Columns label_encoder();
Columns label_encoder_1();
Columns one_hot_encoder();

// ml_features.cpp
Columns binarizer();
Columns feature_vectorizer();
Columns imputer();
Columns normalizer();
Columns scaler();

// ml_linear.cpp
Columns linear_classifier();
Columns linear_regressor();

// ml_svm.cpp
Columns svm_classifier();
Columns svm_regressor();

// ml_trees.cpp
Columns tree_ensemble();
Columns tree_ensemble_classifier();
Columns tree_ensemble_regressor();

}  // namespace commensal::kernels::ref
