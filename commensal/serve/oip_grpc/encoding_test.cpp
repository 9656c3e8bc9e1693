// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <inference/grpc_service.pb.h>

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>

namespace commensal::oip_grpc {
namespace {

using inference::ModelInferRequest;

core::Result<std::int64_t> bytes_of(const std::string& text, std::size_t piece = 1'000) {
  http2::Message message;
  for (std::size_t at = 0; at < text.size(); at += piece)
    message.pieces.push_back(text.substr(at, piece));
  return parsed_bytes(message, *ModelInferRequest::descriptor());
}
std::string times(int count, const std::string& text) {
  std::string made;
  for (int i = 0; i < count; ++i) made += text;
  return made;
}
std::string sized(char field, const std::string& content) {
  return std::string{static_cast<char>(field << 3 | 2)} +
         std::string{static_cast<char>((content.size() & 0x7f) | 0x80),
                     static_cast<char>((content.size() >> 7 & 0x7f) | 0x80),
                     static_cast<char>(content.size() >> 14)} +
         content;
}

// The fault: the account held what came; 16 KiB, inflated, were parsed to 1.9 GB.
TEST(GrpcEncoding, WhatAMessageTakesIsKnownBeforeItIsParsed) {
  const std::string input = sized(1, "a") + sized(2, "FP32");
  const std::string messages[] = {
      times(limits::kGrpcPartsMax - 1, "\x2a" + std::string(1, 0)),
      times(4'000, "\x32" + std::string(1, 0)),
      times(2'000, sized(4, sized(1, "k") + sized(2, ""))),
      times(500, sized(5, input + sized(3, std::string(30, 1)))),
      sized(5, sized(5, times(50'000, std::string("\x42\0", 2)))),  // empty strings
      sized(5, sized(5, sized(3, std::string(100'000, 1)))),        // one byte an int64
      sized(5, sized(5, sized(1, std::string(100'000, 1)))),        // bools
      sized(5, sized(5, times(50'000, std::string("\x18\1", 2)))),  // each with its tag
      times(50'000, std::string("\x78\1", 2)),                      // unknown numbers
      times(50'000, std::string("\x7a\0", 2)),                      // unknown texts
      times(50, sized(7, std::string(4'000, 'r'))),
  };
  for (const std::string& text : messages) {
    ModelInferRequest request;
    ASSERT_TRUE(request.ParseFromString(text));
    const auto bytes = bytes_of(text);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_GE(*bytes, static_cast<std::int64_t>(request.SpaceUsedLong())) << text.size();
    EXPECT_EQ(bytes_of(text, 7).value(), *bytes);
  }
}

TEST(GrpcEncoding, TooManyPartsAreRefusedUnparsed) {
  const std::string empty_input = "\x2a" + std::string(1, 0);
  const auto many = bytes_of(times(limits::kGrpcPartsMax, empty_input));
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "the message has more than 8192 messages in it (tensors, parameters)");
}

TEST(GrpcEncoding, WhatIsNoMessageIsRefused) {
  for (const std::string& text :
       {std::string("\x2a\x05zz"), std::string("\x2a"), std::string("\x0b\x0c"),
        std::string("\x00\x00", 2), std::string("\x2a\x02\x0a\x05zzzzz")}) {
    EXPECT_FALSE(bytes_of(text));
    EXPECT_FALSE(bytes_of(text, 1));
  }
  EXPECT_TRUE(bytes_of(""));
}

}  // namespace
}  // namespace commensal::oip_grpc
