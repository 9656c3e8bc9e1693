// SPDX-License-Identifier: Apache-2.0
#include <sys/random.h>

#include <commensal/base/core/check.hpp>
#include <commensal/base/core/rng.hpp>
#include <cstring>

namespace commensal::core {
namespace {

std::array<std::uint32_t, 4> stream_block(std::uint64_t seed, std::uint64_t stream,
                                          std::uint64_t block) {
  return philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                     static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(stream >> 32)},
                    {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> c,
                                        std::array<std::uint32_t, 2> k) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * c[0], p1 = kMultiplier1 * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += kWeyl0;
    k[1] += kWeyl1;
  }
  return c;
}

std::uint64_t Rng::next_u64() {
  std::array<std::uint8_t, 8> raw;
  fill(raw);
  std::uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = value << 8 | raw[static_cast<std::size_t>(i)];
  return value;
}

double Rng::next_unit() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }

Digest Rng::next_digest() {
  Digest digest;
  fill(digest);
  return digest;
}

void SystemRng::fill(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    check(got > 0, "getrandom failed");
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::uint32_t CounterRng::next_u32() {
  if (word_ % 4 == 0) block_ = stream_block(seed_, stream_, word_ / 4);
  return block_[word_++ % 4];
}

void CounterRng::fill(std::span<std::uint8_t> out) {
  for (std::size_t i = 0; i < out.size(); i += 4) {
    const std::uint32_t word = next_u32();
    for (std::size_t j = 0; j < 4 && i + j < out.size(); ++j) {
      out[i + j] = static_cast<std::uint8_t>(word >> (8 * j));
    }
  }
}

float counter_symmetric_f32(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::uint32_t word = stream_block(seed, stream, index / 4)[index % 4];
  const auto top = static_cast<std::int32_t>(word >> 8);
  return static_cast<float>(top - (1 << 23)) * 0x1p-23f;
}

}  // namespace commensal::core
