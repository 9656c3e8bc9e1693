// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers on texts, as ops.hpp does.
namespace commensal::kernels::ref {

// strings_grams.cpp
extern const Judge kTfIdfVectorizer;

// strings_text.cpp
extern const Judge kRegexFullMatch;
extern const Judge kStringConcat;
extern const Judge kStringNormalizer;
extern const Judge kStringSplit;

}  // namespace commensal::kernels::ref
