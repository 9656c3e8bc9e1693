// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers on texts, as ops.hpp does.
namespace commensal::kernels::ref {

// strings_grams.cpp
Columns tf_idf_vectorizer();

// strings_text.cpp
Columns regex_full_match();
Columns string_concat();
Columns string_normalizer();
Columns string_split();

}  // namespace commensal::kernels::ref
