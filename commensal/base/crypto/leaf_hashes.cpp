// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/crypto/leaf_hashes.hpp>
#include <cstring>
#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// g++ 12 warns of what its own header leaves undefined on purpose.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#endif

namespace commensal::crypto {
namespace {

#if defined(__x86_64__)
// SHA-256 (FIPS 180-4) of 16 messages of one length side by side, a 32-bit lane for each. One
// message alone is bound by the latency of its rounds, even with the SHA extensions.
#define COMMENSAL_WIDE __attribute__((target("avx512f,avx512bw,avx512vl")))

constexpr int kLanes = 16, kBlockBytes = 64;
using Words = __m512i;

constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr std::uint32_t kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

COMMENSAL_WIDE inline Words sum(Words a, Words b) { return _mm512_add_epi32(a, b); }
template <int kA, int kB, int kC>
COMMENSAL_WIDE inline Words turned(Words x) {  // the exclusive or of three rotations
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, kA), _mm512_ror_epi32(x, kB),
                                   _mm512_ror_epi32(x, kC), 0x96);
}
template <int kA, int kB, int kShift>
COMMENSAL_WIDE inline Words mixed(Words x) {  // the same with a shift for the third
  return _mm512_ternarylogic_epi32(_mm512_ror_epi32(x, kA), _mm512_ror_epi32(x, kB),
                                   _mm512_srli_epi32(x, kShift), 0x96);
}

// Row l becomes lane l of each word: the stages exchange squares of 8, 4, 2 and 1 words a side.
COMMENSAL_WIDE inline void transpose(Words (&rows)[kLanes]) {
  const Words lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#pragma GCC unroll 4
  for (int half = 8; half > 0; half /= 2) {
    // Lanes with the bit take those without it from the other row, and the other way round.
    const __mmask16 upper = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(half));
    const Words across = _mm512_xor_si512(lane, _mm512_set1_epi32(half + kLanes));
    const Words low = _mm512_mask_mov_epi32(lane, upper, across);
    const Words high = _mm512_xor_si512(low, _mm512_set1_epi32(half));
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) {
      if ((i & half) != 0) continue;
      const Words a = rows[i], b = rows[i | half];
      rows[i] = _mm512_permutex2var_epi32(a, low, b);
      rows[i | half] = _mm512_permutex2var_epi32(a, high, b);
    }
  }
}

COMMENSAL_WIDE void add_block(Words (&state)[8], const std::uint8_t* const (&blocks)[kLanes]) {
  const Words big_endian =
      _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
  Words w[kLanes];
#pragma GCC unroll 16
  for (int l = 0; l < kLanes; ++l) {
    w[l] = _mm512_shuffle_epi8(_mm512_loadu_si512(blocks[l]), big_endian);
  }
  transpose(w);
  Words a = state[0], b = state[1], c = state[2], d = state[3];
  Words e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 64
  for (int i = 0; i < 64; ++i) {
    Words& next = w[i % kLanes];
    if (i >= kLanes) {
      const Words small = sum(mixed<7, 18, 3>(w[(i + 1) % kLanes]), w[(i + 9) % kLanes]);
      next = sum(next, sum(small, mixed<17, 19, 10>(w[(i + 14) % kLanes])));
    }
    const Words round = sum(next, _mm512_set1_epi32(static_cast<int>(kRound[i])));
    const Words choice = _mm512_ternarylogic_epi32(e, f, g, 0xca);
    const Words majority = _mm512_ternarylogic_epi32(a, b, c, 0xe8);
    const Words first = sum(sum(h, turned<6, 11, 25>(e)), sum(choice, round));
    h = g;
    g = f;
    f = e;
    e = sum(d, first);
    d = c;
    c = b;
    b = a;
    a = sum(first, sum(turned<2, 13, 22>(b), majority));
  }
  const Words made[8] = {a, b, c, d, e, f, g, h};
  for (int k = 0; k < 8; ++k) state[k] = sum(state[k], made[k]);
}

// 16 whole leaves, one after another. A leaf is hashed behind 0x00, so its blocks begin a byte
// early: the first and the last are put together here.
COMMENSAL_WIDE void hash_16(const std::uint8_t* leaves, Digest* hashes) {
  constexpr std::size_t kLeaf = kMerkleLeafBytes;
  static_assert(kLeaf % kBlockBytes == 0);
  std::uint8_t edges[kLanes][kBlockBytes];
  const std::uint8_t* blocks[kLanes];
  Words state[8];
  for (int k = 0; k < 8; ++k) state[k] = _mm512_set1_epi32(static_cast<int>(kStart[k]));
  for (int l = 0; l < kLanes; ++l) {
    edges[l][0] = 0;
    std::memcpy(edges[l] + 1, leaves + l * kLeaf, kBlockBytes - 1);
    blocks[l] = edges[l];
  }
  add_block(state, blocks);
  for (std::size_t at = kBlockBytes - 1; at + kBlockBytes < kLeaf; at += kBlockBytes) {
    for (int l = 0; l < kLanes; ++l) blocks[l] = leaves + l * kLeaf + at;
    add_block(state, blocks);
  }
  constexpr std::size_t kBits = (kLeaf + 1) * 8;
  for (int l = 0; l < kLanes; ++l) {
    std::memset(edges[l], 0, kBlockBytes);
    edges[l][0] = leaves[l * kLeaf + kLeaf - 1];
    edges[l][1] = 0x80;
    edges[l][kBlockBytes - 2] = static_cast<std::uint8_t>(kBits >> 8);
    edges[l][kBlockBytes - 1] = static_cast<std::uint8_t>(kBits & 0xff);
    blocks[l] = edges[l];
  }
  add_block(state, blocks);
  for (std::size_t k = 0; k < 8; ++k) {
    std::uint32_t words[kLanes];
    _mm512_storeu_si512(words, state[k]);
    for (int l = 0; l < kLanes; ++l) {
      for (std::size_t b = 0; b < 4; ++b) {
        hashes[l][4 * k + b] = static_cast<std::uint8_t>(words[l] >> (24 - 8 * b));
      }
    }
  }
}

bool has_wide() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

void leaf_hashes(ByteView bytes, std::span<Digest> hashes) {
  std::size_t leaf = 0;
#if defined(__x86_64__)
  constexpr std::size_t kGroupBytes = kLanes * kMerkleLeafBytes;
  if (has_wide()) {
    for (; (leaf + kLanes) * kMerkleLeafBytes <= bytes.size(); leaf += kLanes) {
      hash_16(bytes.data() + leaf / kLanes * kGroupBytes, hashes.data() + leaf);
    }
  }
#endif
  for (std::size_t at = leaf * kMerkleLeafBytes; at < bytes.size(); at += kMerkleLeafBytes) {
    core::check(leaf < hashes.size(), "a place for each leaf's hash");
    hashes[leaf++] = leaf_hash(bytes.subspan(at, std::min(kMerkleLeafBytes, bytes.size() - at)));
  }
}

}  // namespace commensal::crypto
