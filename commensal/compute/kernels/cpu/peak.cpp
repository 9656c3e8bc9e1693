// SPDX-License-Identifier: Apache-2.0
// Compiled once per instruction set, as lanes.cpp.
#include <commensal/compute/kernels/cpu/targets.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE <commensal/compute/kernels/cpu/peak.cpp>
#include <hwy/foreach_target.h>

#include <commensal/compute/kernels/cpu/vector-inl.hpp>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace commensal::kernels::cpu::HWY_NAMESPACE {
#if HWY_NATIVE_FMA

// Two units of a latency of four need eight chains; twelve are more than enough, and with their two
// factors they fit the sixteen registers of AVX2.
inline constexpr int kChains = 12;

/// Returns the operations done.
std::int64_t multiply_adds(std::int64_t rounds, float* values) {
  const V factor = hn::Set(kFloats, values[0]), addend = hn::Set(kFloats, values[1]);
  V chains[kChains];
  COMMENSAL_UNROLL
  for (int c = 0; c < kChains; ++c) chains[c] = hn::Set(kFloats, values[c]);
  for (std::int64_t i = 0; i < rounds; ++i) {
    COMMENSAL_UNROLL
    for (int c = 0; c < kChains; ++c) chains[c] = hn::MulAdd(chains[c], factor, addend);
  }
  V sum = chains[0];
  COMMENSAL_UNROLL
  for (int c = 1; c < kChains; ++c) sum = hn::Add(sum, chains[c]);
  values[0] = hn::GetLane(sum);  // somebody wants it
  return rounds * kChains * kLanes * 2;
}

#endif  // HWY_NATIVE_FMA
}  // namespace commensal::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <array>
#include <atomic>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/peak.hpp>
#include <limits>

namespace commensal::kernels {
namespace {

constexpr int kPeakValues = 12;                           // one a chain
constexpr std::int64_t kRounds = 200'000;                 // some ten milliseconds
constexpr std::int64_t kBytes = std::int64_t{256} << 20;  // several times a large cache
constexpr int kAttempts = 5;                              // the best counts: others may disturb

// The shortest of some attempts at running task(i) on every thread.
double shortest_s(ThreadPool& threads, const core::Clock& clock,
                  const std::function<void(std::int64_t)>& task) {
  std::int64_t best_ns = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::int64_t start_ns = clock.monotonic_ns();
    threads.run(threads.threads(), task);
    best_ns = std::min(best_ns, std::max<std::int64_t>(clock.monotonic_ns() - start_ns, 1));
  }
  return 1e-9 * static_cast<double>(best_ns);
}

double measure_ops(Isa isa, ThreadPool& threads, const core::Clock& clock) {
  const auto multiply_adds = COMMENSAL_OF_ISA(isa, multiply_adds);
  std::atomic<std::int64_t> ops = 0;
  const double seconds = shortest_s(threads, clock, [&ops, multiply_adds](std::int64_t) {
    std::array<float, kPeakValues> values{};
    values.fill(0.5f);  // x / 2 + 1 / 2 goes to 1: nothing overflows, nothing is denormal
    ops += multiply_adds(kRounds, values.data());
  });
  return static_cast<double>(ops) / kAttempts / seconds;
}

core::Result<double> measure_bytes(Isa isa, ThreadPool& threads, const core::Clock& clock) {
  tensor::Arena heap(2 * kBytes);
  COMMENSAL_ASSIGN(const auto block, heap.allocate(kBytes));
  auto* floats = reinterpret_cast<float*>(block.get());
  const std::int64_t share = kBytes / static_cast<std::int64_t>(sizeof(float)) / threads.threads();
  threads.run(threads.threads(),
              [=](std::int64_t i) { std::fill_n(floats + i * share, share, 1.0f); });
  std::vector<float> sums(static_cast<std::size_t>(threads.threads()));
  const auto sum = cpu::kernels_for(isa).sum;
  const double seconds = shortest_s(threads, clock, [&, sum](std::int64_t i) {
    sums[static_cast<std::size_t>(i)] = sum(floats + i * share, share);
  });
  return static_cast<double>(kBytes) / seconds;
}

}  // namespace

core::Result<Peak> measure_peak(Isa isa, ThreadPool& threads, const core::Clock& clock) {
  COMMENSAL_ASSIGN(const double bytes_per_s, measure_bytes(isa, threads, clock));
  return Peak{measure_ops(isa, threads, clock), bytes_per_s};
}

}  // namespace commensal::kernels
#endif  // HWY_ONCE
