// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/result.hpp>

namespace commensal::core {

std::string_view name_of(ErrorCode code) {
  static constexpr std::string_view kNames[] = {
      "invalid-argument",   "not-found",       "already-exists",
      "permission-denied",  "unauthenticated", "failed-precondition",
      "resource-exhausted", "unsupported",     "unavailable",
      "deadline-exceeded",  "data-loss",       "cancelled",
      "over-budget",        "internal",
  };
  return kNames[static_cast<int>(code)];
}

}  // namespace commensal::core
