// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>

namespace commensal::rpc {
namespace {

using commensal::v1::Frame;
using core::ErrorCode;

constexpr std::int64_t kMax = limits::kRpcMessageBytesMax;
constexpr auto kPiece = static_cast<std::size_t>(limits::kRpcFrameBytesMax);

Outgoing message_of(std::size_t head, const std::vector<std::size_t>& tensors) {
  Outgoing message;
  char next = 'a';
  const auto text = [&](std::size_t size) {
    std::string made(size, next++);
    for (std::size_t i = 0; i < size; i += 997) made[i] = static_cast<char>(i % 251);
    return made;
  };
  message.head = text(head);
  for (const std::size_t size : tensors) {
    const auto owner = std::make_shared<const std::string>(text(size));
    const tensor::TensorType type{tensor::DType::kUint8, {static_cast<std::int64_t>(size)}};
    message.tensors.push_back(tensor::Tensor::view_of(type, core::as_bytes(*owner), owner));
  }
  return message;
}

Frame whole_of(const Outgoing& message) {
  Frame frame;
  frame.set_head(message.head);
  for (const tensor::Tensor& one : message.tensors) {
    frame.add_tensors(std::string(core::as_text(one.bytes())));
  }
  return frame;
}

Frame piece(std::size_t bytes, std::uint64_t more) {
  Frame made;
  made.set_head(std::string(bytes, 'x'));
  made.set_more(more);
  return made;
}

TEST(Pieces, AreJoinedToWhatTheyWere) {
  const std::vector<std::vector<std::size_t>> all = {
      {},
      {0},
      {3, 0, 5},
      {kPiece},
      {kPiece - 10},
      {kPiece, kPiece},
      {kPiece - 10, 0, 0, kPiece, 1},
      {0, 5 * kPiece + 7, 0, 3},
  };
  for (const std::size_t head : {std::size_t{1}, std::size_t{10}, kPiece, 3 * kPiece + 1}) {
    for (const auto& tensors : all) {
      const Outgoing message = message_of(head, tensors);
      Assembly assembly;
      std::optional<Frame> whole;
      for (Pieces pieces(message); !pieces.is_over();) {
        Frame one = pieces.next();
        EXPECT_LE(one.ByteSizeLong(), static_cast<std::size_t>(limits::kRpcWireBytesMax));
        ASSERT_FALSE(whole);
        whole = *assembly.add(std::move(one), kMax);
      }
      ASSERT_TRUE(whole);
      EXPECT_TRUE(whole->SerializeAsString() == whole_of(message).SerializeAsString());
    }
  }
}

TEST(Pieces, HaveBounds) {
  constexpr std::int64_t kTwo = 2 * limits::kRpcFrameBytesMax;
  EXPECT_EQ(Assembly().add(piece(10, 91), 100).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(Assembly().add(piece(10, ~std::uint64_t{0}), 100).error().code,
            ErrorCode::kResourceExhausted);
  Assembly liar;  // says less than it sends
  ASSERT_TRUE(liar.add(piece(kPiece, 1), kTwo - 1));
  EXPECT_EQ(liar.add(piece(kPiece, 0), kTwo - 1).error().code, ErrorCode::kResourceExhausted);
  Frame many = piece(1, 0);
  for (std::size_t i = 0; i < limits::kInferTensorsMax + 2; ++i) many.add_tensors();
  EXPECT_EQ(Assembly().add(std::move(many), kMax).error().code, ErrorCode::kResourceExhausted);
}

TEST(Pieces, MayBeCut) {
  const Outgoing first = message_of(3 * kPiece, {10});
  const Outgoing second = message_of(10, {2 * kPiece});
  Assembly assembly;
  Pieces cut(first);
  EXPECT_FALSE(*assembly.add(cut.next(), kMax));
  cut.cut();
  EXPECT_FALSE(cut.is_over());
  EXPECT_FALSE(*assembly.add(cut.next(), kMax));
  EXPECT_TRUE(cut.is_over());
  EXPECT_EQ(assembly.bytes(), 0);
  std::optional<Frame> whole;
  for (Pieces pieces(second); !pieces.is_over();) whole = *assembly.add(pieces.next(), kMax);
  EXPECT_EQ(whole->SerializeAsString(), whole_of(second).SerializeAsString());
  Frame nothing;
  nothing.set_cut(true);
  EXPECT_EQ(assembly.add(std::move(nothing), kMax).error().code, ErrorCode::kInvalidArgument);
}

TEST(Pieces, AreFullBeforeTheLast) {
  EXPECT_EQ(Assembly().add(piece(0, 10), 100).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Assembly().add(piece(1, 10), 100).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(Assembly().add(piece(kPiece - 1, kPiece), kMax).error().code,
            ErrorCode::kInvalidArgument);
  Assembly later;
  ASSERT_TRUE(later.add(piece(kPiece, 3), kMax));
  EXPECT_EQ(later.add(piece(1, 2), kMax).error().code, ErrorCode::kInvalidArgument);
}

// What is announced costs nothing.
TEST(Pieces, ComeTogetherWholeAndFewOnly) {
  const auto said_of = [](Frame frame, std::int64_t bytes_max = kMax) {
    const auto made = Assembly().add(std::move(frame), bytes_max);
    return made ? (*made)->rest_size() : -static_cast<int>(made.error().code);
  };
  const auto bundle_of = [](int count, const Frame& one) {
    Frame made = piece(10, 0);
    for (int i = 0; i < count; ++i) *made.add_rest() = one;
    return made;
  };
  constexpr int kBad = -static_cast<int>(ErrorCode::kInvalidArgument);
  constexpr int kTooMuch = -static_cast<int>(ErrorCode::kResourceExhausted);
  EXPECT_EQ(said_of(bundle_of(3, piece(10, 0)), 40), 3);
  EXPECT_EQ(said_of(bundle_of(3, piece(10, 0)), 39), kTooMuch);
  EXPECT_EQ(said_of(bundle_of(limits::kRpcBundleMax - 1, piece(0, 0))), limits::kRpcBundleMax - 1);
  EXPECT_EQ(said_of(bundle_of(limits::kRpcBundleMax, piece(0, 0))), kTooMuch);
  EXPECT_EQ(said_of(bundle_of(1, piece(kPiece, 1))), kBad);
  EXPECT_EQ(said_of(bundle_of(1, bundle_of(1, piece(1, 0)))), kBad);
  Frame aside = bundle_of(1, piece(1, 0));
  aside.set_aside(true);
  EXPECT_EQ(said_of(aside), kBad);
  Assembly assembly;
  ASSERT_TRUE(assembly.add(piece(kPiece, kPiece), kMax));
  EXPECT_FALSE(assembly.add(bundle_of(1, piece(1, 0)), kMax));
}

TEST(Pieces, TakeMemoryForWhatHasComeOnly) {
  Frame tiny;
  for (int i = 0; i < 2; ++i) tiny.add_tensors("x");
  tiny.set_more(kMax - 2);
  EXPECT_EQ(Assembly().add(std::move(tiny), kMax).error().code, ErrorCode::kInvalidArgument);
  // Each piece ends a tensor and begins one, of which anything may come.
  constexpr std::size_t kPieces = 32;
  Assembly assembly;
  std::size_t held = 0;
  for (std::size_t i = 1; i <= kPieces; ++i) {
    Frame one;
    one.add_tensors(std::string(kPiece - 1, 'x'));
    one.add_tensors("y");
    one.set_more(i == kPieces ? 0 : static_cast<std::size_t>(kMax) - i * kPiece);
    const auto whole = assembly.add(std::move(one), kMax);
    ASSERT_TRUE(whole) << whole.error().message;
    if (!*whole) continue;
    for (const std::string& tensor : (*whole)->tensors()) held += tensor.capacity();
  }
  EXPECT_GE(held, kPieces * kPiece);
  EXPECT_LE(held, 4 * kPieces * kPiece);
}

/// Looks after each list of pieces (true: a message's last) that come between two.
PieceWatch::Finding after_looks(const std::vector<std::vector<bool>>& between) {
  PieceWatch watch;
  PieceWatch::Finding last = PieceWatch::Finding::kOver;
  for (const auto& pieces : between) {
    for (const bool is_last : pieces) watch.on_piece(is_last);
    last = watch.look();
  }
  return last;
}

TEST(PieceWatch, LetsBeWhatGoesOnHoweverLong) {
  using Finding = PieceWatch::Finding;
  EXPECT_EQ(after_looks({{false}}), Finding::kGoesOn) << "it has just begun";
  EXPECT_EQ(after_looks({{false}, {}}), Finding::kTooSlow);
  EXPECT_EQ(after_looks({std::vector<bool>(200, false), {}}), Finding::kTooSlow)
      << "nobody earns a rest";
  EXPECT_EQ(after_looks(std::vector<std::vector<bool>>(250, {false})), Finding::kGoesOn);
  // 250 MiB at 6 Mbit/s.
  const std::vector<bool> pieces(6'000'000 * limits::kRpcLookMs / 8'000 / kPiece, false);
  EXPECT_EQ(after_looks(std::vector<std::vector<bool>>(250 / pieces.size(), pieces)),
            Finding::kGoesOn);
  EXPECT_EQ(after_looks({{false}, {true}}), Finding::kOver);
  EXPECT_EQ(after_looks({{false}, {true, false}}), Finding::kGoesOn) << "another";
  EXPECT_EQ(after_looks({{false}, {true, false}, {}}), Finding::kTooSlow);
}

TEST(PieceWatch, AsksForOneLookAtATime) {
  PieceWatch watch;
  int asked = watch.on_piece(true) ? 1 : 0;
  EXPECT_EQ(asked, 0);
  for (int i = 0; i < 1'000; ++i) {
    asked += watch.on_piece(false) ? 1 : 0;
    asked += watch.on_piece(true) ? 1 : 0;
  }
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(watch.look(), PieceWatch::Finding::kOver);
  EXPECT_TRUE(watch.on_piece(false));
}

}  // namespace
}  // namespace commensal::rpc
