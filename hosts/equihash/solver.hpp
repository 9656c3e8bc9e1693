// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <hosts/equihash/heap.hpp>
#include <hosts/equihash/params.hpp>
#include <span>
#include <vector>

namespace hosts::equihash {

/// What a run is told and tells while it works. `passes` counts buckets worked off, by relaxed
/// increments of one thread: a run is passes_a_run() of them, each about as long as the others.
struct Progress {
  std::atomic<std::uint64_t>& passes;
  const std::atomic<bool>& stop;
};

struct Found {
  std::vector<Indices> solutions;  // each in the order that verify() asks for, without duplicates
  std::uint64_t rows_dropped = 0;  // rows that found their bucket full: solutions may be missing
};

/// Wagner's algorithm (D. Wagner, "A Generalized Birthday Problem", CRYPTO 2002) by buckets: in
/// round r the rows whose first r digits are zero lie in buckets by the beginning of digit r; those
/// of one bucket with equal rest of the digit are XORed in pairs into the buckets of round r + 1.
/// Two heaps take turns. A row keeps what is left of its XOR and, from each earlier round of its
/// heap, the pair that it came from, so that indices are found again at the end.
/// Not thread-safe: a solver (and its memory, heap_bytes()) belongs to one thread.
class Solver {
 public:
  /// `spare`: how many times more rows a bucket holds than usual; for tests that need every
  /// solution of small parameters.
  explicit Solver(const Params& params, unsigned spare = 1);

  /// Every solution of this input, unless `stop` rises: then what was found so far.
  Found solve(std::span<const std::uint8_t> input, const Progress& progress);

  std::uint64_t passes_a_run() const;
  std::size_t heap_bytes() const { return heaps_[0].bytes() + heaps_[1].bytes(); }

 private:
  Params params_;
  Layout layout_;
  Heap heaps_[2];
};

}  // namespace hosts::equihash
