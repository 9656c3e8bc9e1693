// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <hosts/equihash/params.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace hosts::equihash {

struct MinerOptions {
  Params params;
  unsigned threads = 1;
  std::uint64_t seed = 1;  // of the header; each thread has its own nonces
};

/// Figures since the start.
struct MinerCounts {
  std::uint64_t passes = 0;  // bucket passes: work, in small equal pieces
  std::uint64_t runs = 0;    // nonces worked off
  std::uint64_t solutions = 0;
  std::uint64_t invalid =
      0;  // solutions that the verifier refused: always 0, or the solver is wrong
};

/// Header of 108 bytes (from the seed) and nonce of 32: what Zcash hashes before each index.
using Input = std::array<std::uint8_t, 140>;
Input input_of(std::uint64_t seed, std::uint32_t thread, std::uint64_t nonce);

/// Threads that solve one nonce after the other from construction to stop().
/// Thread-safety: counts() from any thread.
class Miner {
 public:
  explicit Miner(const MinerOptions& options);
  Miner(const Miner&) = delete;
  Miner& operator=(const Miner&) = delete;
  ~Miner() { stop(); }

  MinerCounts counts() const;
  std::vector<std::uint64_t> passes_of_threads() const;
  void stop();  // within about a bucket's time

 private:
  struct alignas(64) Counters {  // a line of its own for each thread
    std::atomic<std::uint64_t> passes{0};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> solutions{0};
    std::atomic<std::uint64_t> invalid{0};
  };
  void work(std::uint32_t thread);

  MinerOptions options_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Counters>> counters_;
  std::vector<std::thread> threads_;
};

}  // namespace hosts::equihash
