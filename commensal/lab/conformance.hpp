// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/session.hpp>
#include <commensal/lab/compare.hpp>
#include <functional>
#include <string>
#include <vector>

/// Runs the ONNX project's backend tests: folders with model.onnx and test_data_set_N/input_K.pb,
/// output_K.pb (classes node, simple, pytorch-converted, pytorch-operator), and the models of its
/// class light, which come with outputs only (NAME.onnx, NAME_output_K.pb); the inputs of those
/// are, by definition of that suite, the ramp i / n over the n elements of a float32 input.
/// Source: onnx/onnx, onnx/backend/test.
namespace commensal::lab {

enum class Outcome { kPassed, kMismatched, kUnsupported };
std::string_view name_of(Outcome outcome);

struct ConformanceCase {
  std::string name;  // its path below the folder that was given
  Outcome outcome = Outcome::kPassed;
  std::string detail;  // why not; one line
};

struct ConformanceReport {
  int total = 0;
  int passed = 0;
  int mismatched = 0;   // another result, or a failure of any kind on a model that we claim to run
  int unsupported = 0;  // refused by name: operator, opset, element type, kind of value
  std::vector<ConformanceCase> cases;
};

struct ConformanceOptions {
  graph::SessionOptions session;
  std::string filter = "*";  // of case names, as in glob(7); "*" matches "/" too
  Tolerance tolerance;
  /// Called before each case; for progress bars.
  std::function<void(std::size_t done, std::size_t total)> progress;
};

/// Runs every case at or below `folder`, in the order of their names.
/// Errors: kNotFound (no such folder, or no case in it).
core::Result<ConformanceReport> run_conformance(const core::Path& folder,
                                                const ConformanceOptions& options);

}  // namespace commensal::lab
