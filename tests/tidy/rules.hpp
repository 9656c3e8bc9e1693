// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tests/tidy/arrows.hpp>
#include <tests/tidy/source.hpp>
#include <vector>

namespace commensal::tidy {

inline constexpr int kColumnsMax = 100;
inline constexpr int kFileLinesMax = 400;
inline constexpr int kFunctionLinesMax = 70;

/// True for a file whose rules this linter knows: C++, protobuf, Python, CMake and shell sources.
bool is_checked(const Source& source);

/// Everything wrong with one file, in order of rule, then line.
std::vector<Finding> check(const Source& source, const Arrows& arrows);

}  // namespace commensal::tidy
