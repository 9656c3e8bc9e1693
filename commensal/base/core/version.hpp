// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace commensal::core {

/// Of the program, as CMakeLists.txt has it.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace commensal::core
