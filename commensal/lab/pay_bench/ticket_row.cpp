// SPDX-License-Identifier: Apache-2.0
#include <commensal/lab/pay_bench/pay_bench.hpp>
#include <commensal/trade/pay/ticket/pair_fixture.hpp>

namespace commensal::lab {
namespace {

using core::Result;
using ticket::Pair;

constexpr double kLimitPerS = 25'000;
constexpr std::uint64_t kRound = 5;
constexpr std::size_t kTickets = 4096;  // in one repeat

/// Winners of one round, each of a job of its own, `batch` of them under one signature of each
/// side.
std::vector<protocol::Claim> claims(Pair& pair, std::size_t batch) {
  std::vector<protocol::Claim> made;
  while (made.size() < kTickets) {
    std::vector<Pair::Step> steps;
    for (std::size_t i = 0; i < batch; ++i) {
      steps.push_back(
          pair.step(pair.job(ticket::certain_threshold(), protocol::Amount(1)), kRound));
    }
    pair.sign(steps);
    for (const Pair::Step& step : steps) made.push_back(pair.claim(step));
  }
  return made;
}

/// Tickets a second on this thread: everything that verify_claim checks.
Result<double> rate_of(const std::vector<protocol::Claim>& claims, const Pair& pair,
                       const core::Clock& clock) {
  const beacon::ChainTracker gateway(pair.gateway_head), provider(pair.provider_head);
  const ticket::ClaimTerms terms{kRound, kRound, 10};
  protocol::KnownSignatures known;
  const std::int64_t before = clock.monotonic_ns();
  for (const protocol::Claim& claim : claims) {
    COMMENSAL_TRY(ticket::verify_claim(claim, gateway, provider, terms, &known));
  }
  const double seconds = static_cast<double>(clock.monotonic_ns() - before) * 1e-9;
  return static_cast<double>(claims.size()) / seconds;
}

}  // namespace

Result<Row> bench_tickets(const PayBenchOptions& options, std::size_t batch,
                          const core::Clock& clock) {
  const bool is_bar = batch == options.batch;
  Pair pair(batch);
  const auto made = claims(pair, batch);
  std::vector<double> rates;
  for (int i = 0; i < options.repeats; ++i) {
    COMMENSAL_ASSIGN(rates.emplace_back(), rate_of(made, pair, clock));
  }
  return row_at_least(
      is_bar ? "tickets_verified_per_s_core"
             : fmt::format("tickets_verified_per_s_core_batch_{}", batch),
      is_bar ? std::optional<double>(kLimitPerS) : std::nullopt, std::move(rates),
      fmt::format("{} claims of one round, {} under one signature of each side: both "
                  "signatures, reveals, opening, draw; one thread",
                  made.size(), batch));
}

}  // namespace commensal::lab
