// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/limits.hpp>
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
  EXPECT_EQ(Assembly().add(piece(10, 91), 100).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(Assembly().add(piece(10, ~std::uint64_t{0}), 100).error().code,
            ErrorCode::kResourceExhausted);
  EXPECT_EQ(Assembly().add(piece(0, 10), 100).error().code, ErrorCode::kInvalidArgument);
  Assembly liar;  // says less than it sends
  ASSERT_TRUE(liar.add(piece(60, 1), 100));
  EXPECT_EQ(liar.add(piece(60, 0), 100).error().code, ErrorCode::kResourceExhausted);
  Frame many = piece(1, 0);
  for (std::size_t i = 0; i < limits::kInferTensorsMax + 2; ++i) many.add_tensors();
  EXPECT_EQ(Assembly().add(std::move(many), kMax).error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace commensal::rpc
