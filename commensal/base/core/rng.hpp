// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/base/core/bytes.hpp>
#include <cstdint>
#include <span>

namespace commensal::core {

/// Randomness, injected. Thread-safety: SystemRng any thread, CounterRng one thread.
class Rng {
 public:
  virtual ~Rng() = default;
  virtual void fill(std::span<std::uint8_t> out) = 0;

  std::uint64_t next_u64();
  /// Uniform in [0, 1) with 53 random bits.
  double next_unit();
  Digest next_digest();
};

/// The operating system's generator (getrandom(2)): for keys, salts and audit draws.
class SystemRng final : public Rng {
 public:
  void fill(std::span<std::uint8_t> out) override;
};

/// Philox4x32-10, a counter-based generator: block(counter, key) is a pure function, so that any
/// element of any stream can be computed alone.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC 2011).
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

/// The stream (seed, stream): word j is philox({j/4 low, j/4 high, stream low, stream high},
/// {seed low, seed high})[j % 4]. Simulations and test data draw from it.
class CounterRng final : public Rng {
 public:
  explicit CounterRng(std::uint64_t seed, std::uint64_t stream = 0)
      : seed_(seed), stream_(stream) {}
  void fill(std::span<std::uint8_t> out) override;
  std::uint32_t next_u32();

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint64_t word_ = 0;
  std::array<std::uint32_t, 4> block_{};
};

/// Element `index` of the stream as a binary32 in [-1, 1): the top 24 bits of word `index`, minus
/// 2^23, times 2^-23. Weights of the test networks are made of these (docs/numerics.md).
float counter_symmetric_f32(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

}  // namespace commensal::core
