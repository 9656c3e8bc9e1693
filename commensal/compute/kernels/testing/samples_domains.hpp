// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/testing/samples.hpp>

/// Parts of all_samples.
namespace commensal::kernels::testing {

std::vector<Sample> ml_samples();      // samples_ml_test.cpp: the domain ai.onnx.ml
std::vector<Sample> string_samples();  // samples_strings_test.cpp: operators on texts

}  // namespace commensal::kernels::testing
