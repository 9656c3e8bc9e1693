// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <commensal/lab/bench/runtime/peer_clock.hpp>

namespace commensal::lab::bench {

namespace {

constexpr double kShareMost = 1.0 / 3, kApartMost = 1.0 / 3;
constexpr double kUs = 1e6;

}  // namespace

Clock clock_for(const Loading& loading) {
  return loading.language_s <= kShareMost * loading.run_s ? Clock::kNet : Clock::kOwn;
}

std::string doubt_of(const Loading& loading) {
  if (clock_for(loading) == Clock::kNet) return "";
  if (loading.own_s <= (1 + kApartMost) * loading.operators_s) return "";
  return fmt::format(
      "of {:.0f} us a run the peer's language takes {:.0f}, and its own clock reads {:.0f} us with "
      "a profiler, {:.0f} in operators",
      loading.run_s * kUs, loading.language_s * kUs, loading.own_s * kUs,
      loading.operators_s * kUs);
}

double share_of(const Side& theirs) {
  return theirs.language_s == 0 ? 0 : theirs.language_s / (theirs.median_s + theirs.language_s);
}

std::string doubt_of(const Side& theirs) {
  const double run_s = theirs.median_s + theirs.language_s;
  if (theirs.language_s <= kShareMost * run_s) return "";
  return fmt::format("of {:.0f} us a run the peer's language took {:.0f} in the end", run_s * kUs,
                     theirs.language_s * kUs);
}

}  // namespace commensal::lab::bench
