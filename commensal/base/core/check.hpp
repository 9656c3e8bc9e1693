// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace commensal::core {

/// Our own bug: prints the place and stops, in release builds too. Never for bad input.
[[noreturn]] void check_failed(std::string_view what, const char* file, int line);

// Not std::source_location: clang 14, which builds the fuzzers, does not see it in libstdc++ 12.
inline void check(bool holds, std::string_view what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!holds) [[unlikely]] check_failed(what, file, line);
}

}  // namespace commensal::core
