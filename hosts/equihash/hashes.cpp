// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstring>
#include <hosts/equihash/hashes.hpp>

namespace hosts::equihash {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr unsigned kLanes = Hashes::kLanes;
using Lanes = std::uint64_t __attribute__((vector_size(8 * kLanes)));

// RFC 7693, 2.6 and 2.7.
constexpr std::array<std::uint64_t, 8> kStart = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
constexpr int kRounds = 12;

template <int kBits>
[[gnu::always_inline]] inline void rotate_right(Lanes& x) {
  x = (x >> kBits) | (x << (64 - kBits));
}

[[gnu::always_inline]] inline void mix(Lanes& a, Lanes& b, Lanes& c, Lanes& d, const Lanes& x,
                                       const Lanes& y) {
  a += b + x;
  d ^= a;
  rotate_right<32>(d);
  c += d;
  b ^= c;
  rotate_right<24>(b);
  a += b + y;
  d ^= a;
  rotate_right<16>(d);
  c += d;
  b ^= c;
  rotate_right<63>(b);
}

/// The state after one more block, of every lane. `bytes`: of the message so far, with this block.
[[gnu::always_inline]] inline void compress(Lanes (&h)[8], const Lanes (&m)[16],
                                            std::uint64_t bytes, bool is_last) {
  Lanes v[16];
  for (int i = 0; i < 8; ++i) {
    v[i] = h[i];
    v[i + 8] = Lanes{} + kStart[static_cast<std::size_t>(i)];
  }
  v[12] ^= bytes;
  if (is_last) v[14] = ~v[14];
#pragma GCC unroll 12
  for (int round = 0; round < kRounds; ++round) {
    const std::uint8_t(&s)[16] = kOrder[round % 10];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

struct Job {
  const std::array<std::uint64_t, 8>& state;
  const std::array<std::uint64_t, 16>& last;
  std::uint64_t message_bytes;
  std::size_t index_at;
  std::uint32_t first;
};

[[gnu::always_inline]] inline void run(const Job& job, Hashes::Block& out) {
  Lanes h[8];
  Lanes m[16];
  for (std::size_t i = 0; i < 8; ++i) h[i] = Lanes{} + job.state[i];
  for (std::size_t i = 0; i < 16; ++i) m[i] = Lanes{} + job.last[i];
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    const std::uint32_t number = job.first + lane;
    std::uint64_t words[2];  // the index may stand across two words
    const std::size_t at = std::min<std::size_t>(job.index_at / 8, 14);
    std::memcpy(words, &job.last[at], sizeof words);
    std::memcpy(reinterpret_cast<char*>(words) + (job.index_at - 8 * at), &number, sizeof number);
    m[at][lane] = words[0];
    m[at + 1][lane] = words[1];
  }
  compress(h, m, job.message_bytes, true);
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = 0; i < 8; ++i) {
      const std::uint64_t word = h[i][lane];
      std::memcpy(&out[lane][8 * i], &word, sizeof word);
    }
  }
}

void run_plain(const Job& job, Hashes::Block& out) { run(job, out); }
#ifdef __x86_64__
__attribute__((target("avx2"))) void run_avx2(const Job& job, Hashes::Block& out) { run(job, out); }
__attribute__((target("avx512f"))) void run_avx512(const Job& job, Hashes::Block& out) {
  run(job, out);
}
#endif

using Run = void (*)(const Job&, Hashes::Block&);

Run best_run() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return run_avx512;
  if (__builtin_cpu_supports("avx2")) return run_avx2;
#endif
  return run_plain;
}

}  // namespace

Hashes::Hashes(const Params& params, std::span<const std::uint8_t> input) {
  std::array<std::uint64_t, 8> block{};  // the parameter block: RFC 7693, 2.5, and BLAKE2, 2.8
  block[0] = params.hash_bytes() | std::uint64_t{1} << 16 | std::uint64_t{1} << 24;
  std::memcpy(&block[6], "ZcashPoW", 8);
  block[7] = params.n | std::uint64_t{params.k} << 32;
  for (std::size_t i = 0; i < 8; ++i) state_[i] = kStart[i] ^ block[i];

  std::uint64_t done = 0;
  Lanes h[8];
  for (std::size_t i = 0; i < 8; ++i) h[i] = Lanes{} + state_[i];
  for (; input.size() >= 128; input = input.subspan(128)) {
    std::array<std::uint64_t, 16> words;
    std::memcpy(words.data(), input.data(), 128);
    Lanes m[16];
    for (std::size_t i = 0; i < 16; ++i) m[i] = Lanes{} + words[i];
    compress(h, m, done += 128, false);
  }
  for (std::size_t i = 0; i < 8; ++i) state_[i] = h[i][0];
  if (!input.empty()) std::memcpy(last_.data(), input.data(), input.size());
  index_at_ = input.size();
  message_bytes_ = done + input.size() + 4;
}

void Hashes::compute(std::uint32_t first, Block& out) const {
  static const Run best = best_run();
  best({state_, last_, message_bytes_, index_at_, first}, out);
}

}  // namespace hosts::equihash
