// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace commensal::apps {

/// The table of operators (kernels/operator.hpp) as users see it: rows of one operator joined.
struct OperatorEntry {
  std::string domain;  // "ai.onnx" is the default one
  std::string name;
  int since = 1;
  int until = 0;         // 0: still in force
  bool is_fast = false;  // has a kernel beside ref/'s, at the newest opset
  bool takes_strings = false;
  std::string kind;  // "elementwise", "dot product", ...
};

/// Alphabetical, by domain, then by name.
std::vector<OperatorEntry> operator_list();

/// As a table in Markdown, a row for each domain and kind: what docs/operators.md holds.
std::string operator_markdown();

}  // namespace commensal::apps
