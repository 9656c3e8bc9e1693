// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_outbox.hpp>
#include <string>
#include <vector>

namespace commensal::rpc {
namespace {

using Jobs = std::optional<std::vector<core::Digest>>;

constexpr auto kPiece = static_cast<std::size_t>(limits::kRpcFrameBytesMax);

Jobs jobs(const std::vector<std::uint8_t>& numbers) {
  Jobs made(std::in_place);
  for (const std::uint8_t number : numbers) made->push_back(core::Digest{number});
  return made;
}

/// What is written, a letter a frame, and joined by who reads it.
struct Written {
  std::string frames;
  std::string messages;
};

Written write_all(Outbox& outbox) {
  Written seen;
  Assembly assembly;
  while (!outbox.empty()) {
    commensal::v1::Frame frame = *outbox.begin_writing();
    outbox.written();
    seen.frames += frame.head().front();
    const auto whole = assembly.add(std::move(frame), limits::kRpcMessageBytesMax);
    EXPECT_TRUE(whole) << whole.error().message;
    if (whole && *whole) seen.messages += (*whole)->head().front();
  }
  return seen;
}

struct OutboxTest : ::testing::Test {
  void push(char letter, std::size_t bytes, Jobs of) {
    EXPECT_TRUE(outbox.push({std::string(bytes, letter), {}, std::move(of)}));
  }
  Outbox outbox;
};

TEST_F(OutboxTest, LetsSmallMessagesOfOtherJobsGoBetweenPieces) {
  push('A', 3 * kPiece, jobs({1}));
  push('b', 10, jobs({2}));
  push('c', 10, jobs({1}));  // after A
  push('d', 10, jobs({3, 1}));
  push('e', 10, jobs({}));
  push('f', 10, jobs({3}));  // after d
  push('G', 2 * kPiece, jobs({4}));
  push('h', 10, jobs({4}));
  push('i', 10, jobs({5}));
  const Written seen = write_all(outbox);
  EXPECT_EQ(seen.frames, "AbeiAAcdfGGh");
  EXPECT_EQ(seen.messages, "beiAcdfGh");
}

TEST_F(OutboxTest, SendsInOneFrameWhatWaitsTogether) {
  const auto frame = [this] {
    std::string letters;
    const commensal::v1::Frame made = *outbox.begin_writing();
    letters += made.head().front();
    for (const auto& one : made.rest()) letters += one.head().front();
    return letters;
  };
  outbox.bundle();
  push('a', 10, jobs({1}));
  EXPECT_EQ(frame(), "a");
  push('b', 10, jobs({2}));
  push('c', 10, std::nullopt);
  push('D', 2 * kPiece, jobs({4}));
  push('e', 10, jobs({5}));
  push('f', 10, jobs({6}));
  outbox.written();
  EXPECT_EQ(frame(), "bc");
  outbox.written();
  for (const char* expected : {"D", "e", "f", "D"}) {
    EXPECT_EQ(frame(), expected);
    outbox.written();
  }
  EXPECT_TRUE(outbox.empty());
  for (int i = 0; i < 2 * limits::kRpcBundleMax; ++i) push('g', 10, jobs({7}));
  EXPECT_EQ(frame().size(), std::size_t{limits::kRpcBundleMax});
  // What is with gRPC stays until it is written.
  outbox.drop_waiting();
  EXPECT_FALSE(outbox.empty());
  outbox.written();
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(outbox.frames(), 5U);  // what went aside is not counted
}

TEST_F(OutboxTest, KeepsThePlaceOfWhatSpeaksOfMoreThanJobs) {
  push('A', 2 * kPiece, jobs({1}));
  push('b', 10, jobs({2}));
  push('r', 10, std::nullopt);
  push('c', 10, jobs({3}));
  EXPECT_EQ(write_all(outbox).messages, "bArc");
  push('R', 2 * kPiece, std::nullopt);
  push('c', 10, jobs({3}));
  EXPECT_EQ(write_all(outbox).messages, "Rc");
}

TEST_F(OutboxTest, GoesOnWithTheLargeOneHoweverManySmallOnesCome) {
  push('A', 4 * kPiece, jobs({1}));
  for (std::uint8_t i = 2; i < 8; ++i) push('b', kPiece / 2, jobs({i}));
  EXPECT_EQ(write_all(outbox).frames, "AbbAbbAbbA");
}

TEST_F(OutboxTest, ForgetsWhatNobodyWaitsFor) {
  push('A', 3 * kPiece, jobs({1}));
  push('B', 3 * kPiece, jobs({2}));
  push('c', 10, jobs({2}));
  push('D', 2 * kPiece, jobs({3}));
  outbox.begin_writing();
  outbox.forget(*jobs({1, 2}));  // A's first piece is with gRPC, the others wait
  outbox.written();
  EXPECT_TRUE(outbox.begin_writing()->cut());
  outbox.written();
  EXPECT_EQ(write_all(outbox).frames, "cDD");
  // Between two pieces, and behind what goes aside.
  push('A', 3 * kPiece, jobs({1}));
  outbox.begin_writing();
  outbox.written();
  push('B', 3 * kPiece, jobs({2}));
  push('e', 10, jobs({4}));
  EXPECT_EQ(outbox.begin_writing()->head(), std::string(10, 'e'));
  outbox.forget(*jobs({2}));
  outbox.written();
  EXPECT_EQ(outbox.begin_writing()->head().front(), 'A');
  outbox.written();
  outbox.begin_writing();
  outbox.forget(*jobs({1}));  // its last piece is on its way
  outbox.written();
  EXPECT_TRUE(outbox.empty());
}

TEST_F(OutboxTest, DropsWhatIsNotWithGrpc) {
  push('A', 3 * kPiece, jobs({1}));
  push('b', 10, jobs({2}));
  push('c', 10, jobs({3}));
  outbox.begin_writing();
  outbox.written();
  EXPECT_EQ(outbox.begin_writing()->head(), std::string(10, 'b'));
  outbox.drop_waiting();
  EXPECT_FALSE(outbox.empty());
  outbox.written();
  EXPECT_TRUE(outbox.empty());
  push('A', 3 * kPiece, jobs({1}));
  outbox.begin_writing();
  outbox.written();
  outbox.drop_waiting();
  EXPECT_TRUE(outbox.empty());
  // What was dropped takes no room.
  const auto most = static_cast<std::size_t>(limits::kRpcMessageBytesMax);
  push('B', most, jobs({1}));
  push('B', most, jobs({1}));
  EXPECT_FALSE(outbox.push({"c", {}, jobs({})}));
}

}  // namespace
}  // namespace commensal::rpc
