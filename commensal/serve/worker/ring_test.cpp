// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/worker/channel.hpp>
#include <memory>
#include <thread>
#include <vector>

namespace commensal::worker {
namespace {

core::Bytes bytes_of(std::size_t size, std::uint64_t seed) {
  core::Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i * 31 + i / 251 + seed);
  }
  return bytes;
}

TEST(Ring, CarriesMoreThanItHoldsBetweenThreads) {
  const auto ring = std::make_unique<Ring>();
  const core::Bytes sent = bytes_of(5 * Ring::kBytes + 17, 1);
  core::Bytes got(sent.size());
  std::thread writer([&] {
    RingWriter out(*ring);
    for (std::size_t at = 0, piece = 1; at < sent.size(); piece = piece * 7 % 100'003) {
      at += out.write(core::ByteView(sent).subspan(at, std::min(piece, sent.size() - at)));
    }
  });
  RingReader in(*ring);
  for (std::size_t at = 0, piece = 1; at < got.size(); piece = piece * 11 % 90'001) {
    at += in.read(std::span(got).subspan(at, std::min(piece, got.size() - at)));
  }
  writer.join();
  EXPECT_EQ(got, sent);
}

TEST(Ring, TakesWhatFindsRoom) {
  const auto ring = std::make_unique<Ring>();
  RingWriter out(*ring);
  RingReader in(*ring);
  EXPECT_FALSE(in.has_bytes());
  EXPECT_EQ(out.write(bytes_of(Ring::kBytes + 1, 2)), Ring::kBytes);
  EXPECT_FALSE(out.has_room());
  core::Bytes one(1);
  EXPECT_EQ(in.read(one), 1);
  EXPECT_TRUE(out.has_room());
  EXPECT_FALSE(out.is_broken() || in.is_broken());
}

// The other side may write anything into what both share.
TEST(Ring, BelievesNoImpossiblePlace) {
  for (const std::uint64_t place :
       {std::uint64_t{Ring::kBytes} + 1, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    const auto ring = std::make_unique<Ring>();
    RingReader in(*ring);
    ring->written = place;
    core::Bytes bytes(8);
    EXPECT_EQ(in.read(bytes), 0);
    EXPECT_TRUE(in.is_broken());
    ring->written = 4;  // for good
    EXPECT_EQ(in.read(bytes), 0);
    RingWriter out(*ring);
    ring->read = place;
    EXPECT_EQ(out.write(bytes), 0);
    EXPECT_TRUE(out.is_broken());
  }
}

TEST(Channel, WatchesWhoNeverLetsItWait) {
  const auto pages = std::make_unique<SharedPages>();
  pages->to_parent.written = Ring::kBytes;
  Channel channel(*pages, core::Descriptor(), Channel::Side::kParent);
  channel.watch_by([] { return core::fail(core::ErrorCode::kCancelled, "enough"); });
  core::Bytes bytes(8);
  const auto heard = channel.receive(bytes);
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, core::ErrorCode::kCancelled);
}

}  // namespace
}  // namespace commensal::worker
