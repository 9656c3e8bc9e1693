// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <commensal/collocation/guest/promise.hpp>

namespace commensal::guest {

Promise stricter(const Promise& one, const Promise& other) {
  Promise made{std::min(one.hour, other.hour), std::min(one.minute, other.minute), one.income};
  if (other.income) made.income = std::max(one.income.value_or(0), *other.income);
  return made;
}

std::string words(const Promise& promise) {
  return fmt::format("at most {:.6g} % of an hour and {:.6g} % of any minute{}", 100 * promise.hour,
                     100 * promise.minute, promise.income ? ", and less than guests earn" : "");
}

governor::Rules rules_of(const Promise& promise) {
  return governor::promising(promise.hour, promise.minute);
}

}  // namespace commensal::guest
