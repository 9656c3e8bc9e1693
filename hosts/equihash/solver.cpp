// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <hosts/equihash/hashes.hpp>
#include <hosts/equihash/rows.hpp>
#include <hosts/equihash/solver.hpp>
#include <hosts/equihash/tree.hpp>

namespace hosts::equihash {
namespace {

// What a bucket counts, by the time that it takes: hashing 5, the rounds between 2, the last 3.
constexpr std::uint64_t kHashWork = 5;
constexpr std::uint64_t kRoundWork = 2;
constexpr std::uint64_t kFinishWork = 3;

/// One run: the heaps of a solver and what the rounds share.
struct Run {
  const Params& params;
  const Layout& layout;
  Heap (&heaps)[2];
  const Progress& progress;
  Tree tree{layout, heaps};
  std::uint64_t dropped = 0;
  std::vector<std::uint16_t> heads{};  // the last row with each rest of the digit
  std::vector<std::uint16_t> next{};   // the row before it

  std::uint32_t buckets() const { return std::uint32_t{1} << layout.bucket_bits; }
  std::uint32_t rows_in(const Heap& heap, std::uint32_t bucket) const;
  /// After `work` of what is counted.
  bool may_go_on(std::uint64_t work) const {
    progress.passes.fetch_add(work, std::memory_order_relaxed);
    return !progress.stop.load(std::memory_order_relaxed);
  }
};

constexpr std::uint16_t kNone = 0xffff;

/// The string at `bytes`, as words; the eight bytes before it may be read.
void put_string(const Params& params, const std::uint8_t* bytes, unsigned words,
                std::uint32_t* row) {
  for (unsigned i = 0; i < words; i += 2) {
    const std::uint64_t pair =
        __builtin_bswap64(rows::load64(bytes + params.string_bytes() - 8 - 4 * i));
    row[i] = static_cast<std::uint32_t>(pair);
    if (i + 1 < words) row[i + 1] = static_cast<std::uint32_t>(pair >> 32);
  }
  if (32 * words > params.n) row[words - 1] &= (1U << (params.n % 32)) - 1;
}

/// Round 0: strings into buckets by the beginning of their first digit.
bool hash_into_buckets(Run& run, const Hashes& hashes) {
  const Params& params = run.params;
  Heap& heap = run.heaps[0];
  std::ranges::fill(heap.counts(), 0);
  struct {
    std::array<std::uint8_t, 8> before{};
    Hashes::Block hash{};
  } block;
  const unsigned each = params.strings_per_hash();
  const std::uint32_t pass = std::max<std::uint32_t>(params.strings() / run.buckets(), 1);
  std::uint32_t passed = 0;
  for (std::uint32_t first = 0; first < params.strings(); first += each * Hashes::kLanes) {
    for (; first >= passed; passed += pass) {
      if (!run.may_go_on(kHashWork)) return false;
    }
    hashes.compute(first / each, block.hash);
    for (unsigned j = 0; j < each * Hashes::kLanes; ++j) {
      const std::uint32_t index = first + j;
      if (index >= params.strings()) break;
      const std::uint8_t* bytes = block.hash[j / each].data() + j % each * params.string_bytes();
      const std::uint32_t begin = __builtin_bswap32(rows::load32(bytes));
      const std::uint32_t bucket = begin >> (32 - run.layout.bucket_bits);
      const std::uint32_t slot = heap.counts()[bucket];
      if (slot == run.layout.bucket_rows) {
        ++run.dropped;
        continue;
      }
      heap.counts()[bucket] = slot + 1;
      std::uint32_t* row = heap.row(bucket, slot);
      put_string(params, bytes, run.layout.words(0), row);
      heap.reference(row, 0) = index;
    }
  }
  for (; passed < params.strings(); passed += pass) {
    if (!run.may_go_on(kHashWork)) return false;
  }
  return true;
}

/// Calls `found(later, earlier)` for every pair of rows of a bucket with the same key.
template <class Key, class FoundPair>
[[gnu::always_inline]] inline void for_pairs(Run& run, std::uint32_t rows, const Key& key,
                                             const FoundPair& found) {
  std::ranges::fill(run.heads, kNone);
  for (std::uint32_t s = 0; s < rows; ++s) {
    std::uint16_t& head = run.heads[key(s)];
    run.next[s] = head;
    for (std::uint16_t t = head; t != kNone; t = run.next[t]) found(s, std::uint32_t{t});
    head = static_cast<std::uint16_t>(s);
  }
}

/// Round r to round r + 1, whose rows have kWords words; false: stopped.
template <unsigned kWords>
bool collide(Run& run, unsigned r) {
  const Layout& layout = run.layout;
  Heap& in = run.heaps[r % 2];
  Heap& out = run.heaps[(r + 1) % 2];
  std::ranges::fill(out.counts(), 0);
  const rows::Bits rest(layout.digit_at(r), run.params.digit_bits() - layout.bucket_bits);
  const rows::Bits next_bucket(layout.digit_at(r) - layout.bucket_bits, layout.bucket_bits);
  const std::uint32_t low_mask = rows::mask(std::min(layout.digit_at(r), 32U));
  const unsigned stride = in.stride();
  const unsigned stride_out = out.stride();
  for (std::uint32_t bucket = 0; bucket < run.buckets(); ++bucket) {
    if (!run.may_go_on(kRoundWork)) return false;
    const std::uint32_t* const base = in.row(bucket, 0);
    const std::uint32_t pairs_at = rows::pair_name(layout.bucket_bits, bucket, 0, 0);
    for_pairs(
        run, in.counts()[bucket], [&](std::uint32_t s) { return rest.of(base + s * stride); },
        [&](std::uint32_t s, std::uint32_t t) {
          const std::uint32_t* const a = base + s * stride;
          const std::uint32_t* const b = base + t * stride;
          // Nothing left mostly means the same strings twice. Rows that are truly different stay.
          if (((a[0] ^ b[0]) & low_mask) == 0 && rows::equal(a, b, kWords) &&
              run.tree.share_an_index(r, bucket, s, t)) {
            return;
          }
          const std::uint32_t to = next_bucket.of_xor(a, b);
          const std::uint32_t slot = out.counts()[to];
          if (slot == layout.bucket_rows) {
            ++run.dropped;
            return;
          }
          out.counts()[to] = slot + 1;
          std::uint32_t* const row = out.row(to, slot);
          __builtin_prefetch(row + 3 * stride_out, 1);  // rows go everywhere: no prefetcher sees it
          rows::store_xor<kWords>(row, a, b);
          out.reference(row, r + 1) = pairs_at + rows::pair_number(s, t);
        });
  }
  return true;
}

/// The last round: the digit and the one after it are equal, so all that is left.
bool finish(Run& run, std::vector<Indices>& solutions) {
  const unsigned r = run.params.k - 1;
  const Layout& layout = run.layout;
  Heap& in = run.heaps[r % 2];
  const rows::Bits rest(layout.digit_at(r), run.params.digit_bits() - layout.bucket_bits);
  const unsigned stride = in.stride();
  for (std::uint32_t bucket = 0; bucket < run.buckets(); ++bucket) {
    if (!run.may_go_on(kFinishWork)) return false;
    const std::uint32_t* const base = in.row(bucket, 0);
    for_pairs(
        run, in.counts()[bucket], [&](std::uint32_t s) { return rest.of(base + s * stride); },
        [&](std::uint32_t s, std::uint32_t t) {
          if (!rows::equal(base + s * stride, base + t * stride, layout.words(r))) return;
          Indices indices = run.tree.indices_of(r, bucket, s, t);
          if (!has_duplicates(indices)) solutions.push_back(std::move(indices));
        });
  }
  return true;
}

using Collide = bool (*)(Run&, unsigned);
constexpr Collide kCollide[] = {nullptr,     collide<1>,  collide<2>,  collide<3>,  collide<4>,
                                collide<5>,  collide<6>,  collide<7>,  collide<8>,  collide<9>,
                                collide<10>, collide<11>, collide<12>, collide<13>, collide<14>,
                                collide<15>, collide<16>};

}  // namespace

std::uint64_t Solver::passes_a_run() const {
  return (kHashWork + kRoundWork * (params_.k - 1) + kFinishWork) << layout_.bucket_bits;
}

Solver::Solver(const Params& params, unsigned spare)
    : params_(params), layout_(params, spare), heaps_{Heap(layout_, 0), Heap(layout_, 1)} {}

Found Solver::solve(std::span<const std::uint8_t> input, const Progress& progress) {
  Run run{params_, layout_, heaps_, progress};
  run.heads.resize(std::size_t{1} << (params_.digit_bits() - layout_.bucket_bits));
  run.next.resize(layout_.bucket_rows);
  Found found;
  bool goes_on = hash_into_buckets(run, Hashes(params_, input));
  for (unsigned r = 0; goes_on && r + 1 < params_.k; ++r)
    goes_on = kCollide[layout_.words(r + 1)](run, r);
  if (goes_on) finish(run, found.solutions);
  std::ranges::sort(found.solutions);
  const auto twice = std::ranges::unique(found.solutions);
  found.solutions.erase(twice.begin(), twice.end());
  found.rows_dropped = run.dropped;
  return found;
}

}  // namespace hosts::equihash
