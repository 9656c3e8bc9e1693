// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/lab/bench/pay/pay_bench.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::lab::bench::pay {
namespace {

using core::Result;

constexpr double kLimitPerS = 25'000;
constexpr std::uint64_t kRound = 5;
constexpr int kHashChainDepth = 10;
constexpr std::size_t kTickets = 4096;  // in one repeat

/// A side of the trade, from a seed: its key and its chain of hashes.
struct Side {
  crypto::SecretKey key;
  beacon::HashChain chain;
  protocol::HashChainHead head;

  explicit Side(core::Rng& rng)
      : key(crypto::SecretKey::generate(rng)),
        chain(beacon::HashChain::make(rng.next_digest(), kHashChainDepth)),
        head(protocol::sign_hash_chain_head(key, {{}, chain.anchor(), chain.rounds(), {}})) {}
};

/// A gateway, a provider and the winners of one round between them, each of a job of its own.
class Winners {
 public:
  explicit Winners(std::uint64_t seed) : rng_(seed), gateway_(rng_), provider_(rng_) {}

  const protocol::HashChainHead& gateway() const { return gateway_.head; }
  const protocol::HashChainHead& provider() const { return provider_.head; }

  /// `batch` of them under one signature of each side.
  std::vector<protocol::Claim> claims(std::size_t batch) {
    std::vector<protocol::Claim> made;
    while (made.size() < kTickets) {
      for (std::size_t i = 0; i < batch; ++i) made.push_back(unsigned_claim());
      sign(std::span(made).last(batch));
    }
    return made;
  }

 private:
  protocol::Claim unsigned_claim() {
    protocol::Job job;
    job.graph_root = job.weight_root = core::Digest{1};
    job.input_commitment = rng_.next_digest();
    job.client = gateway_.head.owner;
    job.provider = provider_.head.owner;
    job.face_value = protocol::Amount(1);
    job.win_threshold = ticket::certain_threshold();
    job.beacons = {protocol::beacon_id(gateway_.head, provider_.head)};
    const core::Digest root = rng_.next_digest(), salt = rng_.next_digest();
    const core::Digest commitment = protocol::commit_step(protocol::job_id(job), 1, root, salt);
    return {{job, 1, commitment, kRound, {}, {}},
            *gateway_.chain.reveal(kRound),
            *provider_.chain.reveal(kRound),
            root,
            salt};
  }
  void sign(std::span<protocol::Claim> claims) const {
    std::vector<protocol::ReceiptBody> bodies;
    for (const protocol::Claim& claim : claims) bodies.push_back(claim.receipt.body());
    const auto by = [&](const Side& side, protocol::Role role) {
      return protocol::sign_batch(side.key, role, bodies, protocol::kEmbeddedLedger);
    };
    const auto by_provider = by(provider_, protocol::Role::kProvider);
    const auto by_client = by(gateway_, protocol::Role::kClient);
    for (std::size_t i = 0; i < claims.size(); ++i) {
      claims[i].receipt.provider = by_provider[i];
      claims[i].receipt.client = by_client[i];
    }
  }

  core::CounterRng rng_;
  Side gateway_, provider_;
};

/// Tickets a second on this thread: everything that verify_claim checks.
Result<double> rate_of(const std::vector<protocol::Claim>& claims, const Winners& winners,
                       const core::Clock& clock) {
  const beacon::HashChainTracker gateway(winners.gateway()), provider(winners.provider());
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

Result<bench::Row> bench_tickets(const PayBenchOptions& options, std::size_t batch,
                                 const core::Clock& clock) {
  const bool is_bar = batch == options.batch;
  Winners winners(batch);
  const auto made = winners.claims(batch);
  std::vector<double> rates;
  for (int i = 0; i < options.repeats; ++i) {
    COMMENSAL_ASSIGN(rates.emplace_back(), rate_of(made, winners, clock));
  }
  return bench::row_at_least(
      is_bar ? "tickets_verified_per_s_core"
             : fmt::format("tickets_verified_per_s_core_batch_{}", batch),
      is_bar ? std::optional<double>(kLimitPerS) : std::nullopt, std::move(rates),
      fmt::format("{} claims of one round, {} under one signature of each side: both "
                  "signatures, reveals, opening, draw; one thread",
                  made.size(), batch));
}

}  // namespace commensal::lab::bench::pay
