// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/check.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace commensal::core {

void check_failed(std::string_view what, const char* file, int line) {
  fmt::print(stderr, "{}:{}: check failed: {}\n", file, line, what);
  std::abort();
}

}  // namespace commensal::core
