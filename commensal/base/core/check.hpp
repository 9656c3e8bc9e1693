// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <source_location>
#include <string_view>

namespace commensal::core {

/// Our own bug: prints the place and stops, in release builds too. Never for bad input.
[[noreturn]] void check_failed(std::string_view what, const std::source_location& where);

inline void check(bool holds, std::string_view what,
                  const std::source_location& where = std::source_location::current()) {
  if (!holds) [[unlikely]] check_failed(what, where);
}

}  // namespace commensal::core
