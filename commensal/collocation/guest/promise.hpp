// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/collocation/governor/rules.hpp>
#include <optional>
#include <string>

namespace commensal::guest {

/// What a host's owner is promised of all guests of the machine together.
struct Promise {
  double hour = governor::Rules{}.promise;           // at most such a share of its work is lost
  double minute = governor::Rules{}.minute_promise;  // ... of any minute
  std::optional<double> income{};  // guests run while they earn more than the host loses of that

  bool operator==(const Promise&) const = default;
};

/// The one that keeps both. A pure function.
Promise stricter(const Promise& one, const Promise& other);
/// "at most 1 % of an hour and 3 % of any minute".
std::string words(const Promise& promise);
governor::Rules rules_of(const Promise& promise);

}  // namespace commensal::guest
