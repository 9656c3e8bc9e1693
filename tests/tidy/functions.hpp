// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace commensal::tidy {

struct Function {
  int first_line = 0;  // of its signature, template header included
  int last_line = 0;   // of its closing brace
};

/// The functions (and namespace-scope lambdas) of C++ code laid out by clang-format, by matching
/// braces. A lambda inside a function counts as part of it. `code` is without_directives().
std::vector<Function> functions_of(std::string_view code);

}  // namespace commensal::tidy
