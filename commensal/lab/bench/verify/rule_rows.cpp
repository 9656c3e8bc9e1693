// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/lab/bench/verify/subject.hpp>

namespace commensal::lab::bench::verify {
namespace {

constexpr int kRequests = 1000;  // of one honest provider, from its first on
constexpr int kHosts = 64;       // providers that begin so

/// BOINC's adaptive replication: a host with fewer than ten valid results in a row has each one
/// replicated; with more, one in as many as it has. Source: Anderson, "BOINC: A Platform for
/// Volunteer Computing" (2020), section 3.4.
int replicated(core::Rng& rng) {
  constexpr int kTrustedFrom = 10;
  int count = 0;
  for (int valid = 0; valid < kRequests; ++valid) {
    const bool checked =
        valid < kTrustedFrom || rng.next_u64() % static_cast<std::uint64_t>(valid) == 0;
    count += checked ? 1 : 0;
  }
  return count;
}

}  // namespace

std::vector<bench::Row> rule_rows(double audit, std::uint64_t seed) {
  core::CounterRng rng(seed, 4);
  std::vector<double> adaptive;
  for (int host = 0; host < kHosts; ++host) adaptive.push_back(audit * replicated(rng) / kRequests);
  return {bench::row_at_most(
              "truebit_share", std::nullopt, {audit},
              "every request replayed by one verifier, no dispute, neither tax nor jackpot; "
              "the replay measured above"),
          bench::row_at_most(
              "adaptive_replication_share", std::nullopt, adaptive,
              fmt::format("BOINC's rule over the first {} requests of {} honest providers; "
                          "the replay measured above",
                          kRequests, kHosts))};
}

}  // namespace commensal::lab::bench::verify
