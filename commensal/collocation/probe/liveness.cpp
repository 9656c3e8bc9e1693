// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/collocation/probe/liveness.hpp>

namespace commensal::probe {

std::string_view name_of(State state) {
  constexpr std::string_view kNames[] = {"fresh", "stale", "invalid"};
  return kNames[static_cast<int>(state)];
}

Sample Liveness::judge(std::int64_t now_ns, const Figure& figure) {
  const double sign = figure.uptime_s.value_or(figure.value);
  if (sign_ != sign) {
    sign_ = sign;
    changed_ns_ = now_ns;
  }
  const double still_s = static_cast<double>(now_ns - changed_ns_) / 1e9;
  if (still_s <= stale_after_s_) return {now_ns, figure.value, State::kFresh, {}, figure.own_s};
  return {now_ns, figure.value, State::kStale,
          fmt::format(
              "{} for {:.0f} s",
              figure.uptime_s ? "the program's clock has stood still" : "the figure has not moved",
              still_s),
          figure.own_s};
}

}  // namespace commensal::probe
