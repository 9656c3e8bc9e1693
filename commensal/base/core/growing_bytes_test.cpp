// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/base/core/growing_bytes.hpp>

namespace commensal::core {
namespace {

constexpr std::size_t kPiece = 1 << 16;

void add(GrowingBytes& bytes, std::uint8_t value, std::size_t count, std::size_t expected) {
  std::ranges::fill(bytes.prepare(kPiece, expected).first(count), value);
  bytes.commit(count);
}

TEST(GrowingBytes, KeepWhatHasComeInOrder) {
  GrowingBytes bytes;
  EXPECT_TRUE(ByteView(bytes).empty());
  constexpr std::size_t kPieces = 200;
  for (std::size_t i = 0; i < kPieces; ++i) {
    add(bytes, static_cast<std::uint8_t>(i), 1'000, kPieces * 1'000);
  }
  ASSERT_EQ(bytes.size(), kPieces * 1'000);
  const ByteView all = bytes;
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i / 1'000);
  bytes.clear();
  EXPECT_EQ(bytes.size() + bytes.capacity(), 0U);
}

// Whatever is announced.
TEST(GrowingBytes, TakeTwiceWhatHasComeAndAPieceAtMost) {
  GrowingBytes bytes;
  for (int i = 0; i < 100; ++i) {
    add(bytes, 1, kPiece, std::size_t{1} << 30);
    EXPECT_LE(bytes.capacity(), 2 * bytes.size() + kPiece);
  }
}

TEST(GrowingBytes, TakeNoMoreThanIsExpected) {
  GrowingBytes bytes;
  for (int i = 0; i < 100; ++i) add(bytes, 1, kPiece, 100 * kPiece);
  EXPECT_EQ(bytes.capacity(), 100 * kPiece);
}

}  // namespace
}  // namespace commensal::core
