// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/rng.hpp>
#include <commensal/base/protocol/commitment.hpp>
#include <commensal/trade/pay/beacon/hash_chain.hpp>
#include <commensal/trade/pay/beacon/two_party.hpp>
#include <commensal/trade/pay/ticket/claim.hpp>
#include <commensal/trade/pay/ticket/odds.hpp>

namespace commensal::ticket::testing {

/// A gateway and a provider with their keys and hash chains, and tickets between them: what tests,
/// simulations and benchmarks share. Everything follows from the seed.
class Pair {
 public:
  explicit Pair(std::uint64_t seed, int depth = 10) : rng_(seed), depth_(depth) {}

  struct Step {
    protocol::Receipt receipt;
    core::Digest output_root{};
    core::Digest output_salt{};
  };

  protocol::Job job(const core::Digest& threshold, const protocol::Amount& face) {
    protocol::Job job;
    job.graph_root = job.weight_root = core::Digest{1};
    job.input_commitment = rng_.next_digest();
    job.client = gateway_head.owner;
    job.provider = provider_head.owner;
    job.face_value = face;
    job.win_threshold = threshold;
    job.beacons = {protocol::beacon_id(gateway_head, provider_head)};
    return job;
  }
  /// Committed to, not signed.
  Step step(const protocol::Job& job, std::uint64_t round) {
    Step made{{job, 1, {}, round, {}, {}}, rng_.next_digest(), rng_.next_digest()};
    made.receipt.commitment =
        protocol::commit_step(protocol::job_id(job), 1, made.output_root, made.output_salt);
    return made;
  }
  /// Both signatures, one batch.
  void sign(std::span<Step> steps, std::uint64_t chain_id = protocol::kEmbeddedLedger) {
    std::vector<protocol::ReceiptBody> bodies;
    for (const Step& made : steps) bodies.push_back(made.receipt.body());
    const auto by_provider =
        protocol::sign_batch(provider_key, protocol::Role::kProvider, bodies, chain_id);
    const auto by_client =
        protocol::sign_batch(gateway_key, protocol::Role::kClient, bodies, chain_id);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      steps[i].receipt.provider = by_provider[i];
      steps[i].receipt.client = by_client[i];
    }
  }
  protocol::Claim claim(const Step& made) {
    return {made.receipt, *gateway_chain.reveal(made.receipt.round),
            *provider_chain.reveal(made.receipt.round), made.output_root, made.output_salt};
  }

 private:
  core::CounterRng rng_;
  int depth_;

 public:
  core::Rng& rng() { return rng_; }
  crypto::SecretKey gateway_key = crypto::SecretKey::generate(rng_);
  crypto::SecretKey provider_key = crypto::SecretKey::generate(rng_);
  beacon::HashChain gateway_chain = beacon::HashChain::make(rng_.next_digest(), depth_);
  beacon::HashChain provider_chain = beacon::HashChain::make(rng_.next_digest(), depth_);
  protocol::HashChainHead gateway_head = protocol::sign_hash_chain_head(
      gateway_key, {{}, gateway_chain.anchor(), gateway_chain.rounds(), {}});
  protocol::HashChainHead provider_head = protocol::sign_hash_chain_head(
      provider_key, {{}, provider_chain.anchor(), provider_chain.rounds(), {}});
};

}  // namespace commensal::ticket::testing
