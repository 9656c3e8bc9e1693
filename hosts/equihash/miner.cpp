// SPDX-License-Identifier: Apache-2.0
#include <sodium.h>

#include <cstring>
#include <hosts/equihash/miner.hpp>
#include <hosts/equihash/solver.hpp>
#include <hosts/equihash/verifier.hpp>

namespace hosts::equihash {

Input input_of(std::uint64_t seed, std::uint32_t thread, std::uint64_t nonce) {
  Input input{};
  constexpr std::size_t kHeaderBytes = 108;
  for (std::size_t at = 0; at < kHeaderBytes; at += 54) {
    const std::uint64_t message[2] = {seed, at};
    crypto_generichash_blake2b(&input[at], 54, reinterpret_cast<const std::uint8_t*>(message),
                               sizeof message, nullptr, 0);
  }
  std::memcpy(&input[kHeaderBytes], &nonce, sizeof nonce);
  std::memcpy(&input[kHeaderBytes + 28], &thread, sizeof thread);
  return input;
}

Miner::Miner(const MinerOptions& options) : options_(options) {
  for (unsigned i = 0; i < options.threads; ++i) counters_.push_back(std::make_unique<Counters>());
  for (std::uint32_t i = 0; i < options.threads; ++i) threads_.emplace_back([this, i] { work(i); });
}

void Miner::work(std::uint32_t thread) {
  Counters& mine = *counters_[thread];
  Solver solver(options_.params);
  for (std::uint64_t nonce = 0; !stop_.load(std::memory_order_relaxed); ++nonce) {
    const Input input = input_of(options_.seed, thread, nonce);
    const Found found = solver.solve(input, {mine.passes, stop_});
    for (const Indices& solution : found.solutions) {
      const bool is_valid = !verify(options_.params, input, solution);
      (is_valid ? mine.solutions : mine.invalid).fetch_add(1, std::memory_order_relaxed);
    }
    mine.runs.fetch_add(1, std::memory_order_relaxed);
  }
}

MinerCounts Miner::counts() const {
  MinerCounts sum;
  for (const auto& one : counters_) {
    sum.passes += one->passes.load(std::memory_order_relaxed);
    sum.runs += one->runs.load(std::memory_order_relaxed);
    sum.solutions += one->solutions.load(std::memory_order_relaxed);
    sum.invalid += one->invalid.load(std::memory_order_relaxed);
  }
  return sum;
}

std::vector<std::uint64_t> Miner::passes_of_threads() const {
  std::vector<std::uint64_t> passes;
  for (const auto& one : counters_) passes.push_back(one->passes.load(std::memory_order_relaxed));
  return passes;
}

void Miner::stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace hosts::equihash
