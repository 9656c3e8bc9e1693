// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/oip_grpc/compression.hpp>

namespace commensal::oip_grpc {
namespace {

constexpr std::int64_t kBytesMax = 1 << 20;

http2::Message deflated_words(Compression how) {
  return deflated({.pieces = {std::string(50'000, 'a'), std::string(50'000, 'b')}}, how);
}
core::Result<http2::Message> read(const http2::Message& message, std::string_view encoding,
                                  std::int64_t bytes_max = kBytesMax) {
  core::MemoryBudget::Lease nobodys;
  return inflated(message, compression_of(encoding), bytes_max, nobodys);
}

TEST(GrpcCompression, WhatAClientNamesIsHowItIsRead) {
  for (const std::string_view name : {"gzip", "deflate"}) {
    const http2::Message small = deflated_words(compression_of(name));
    EXPECT_TRUE(small.is_compressed);
    EXPECT_LT(small.bytes(), 1'000);
    const auto whole = read(small, name);
    ASSERT_TRUE(whole) << whole.error().message;
    EXPECT_EQ(whole->bytes(), 100'000);
    EXPECT_EQ(read(small, name, 99'999).error().code, core::ErrorCode::kResourceExhausted);
  }
}

// The fault: whatever a call named, or nothing, what came was read as gzip or deflate.
TEST(GrpcCompression, WhatItDoesNotNameIsRefused) {
  using core::ErrorCode;
  const http2::Message gzip = deflated_words(Compression::kGzip);
  EXPECT_EQ(read(gzip, "deflate").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read(gzip, "snappy").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(read(gzip, "identity").error().code, ErrorCode::kInternal);
  EXPECT_EQ(read(gzip, "").error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace commensal::oip_grpc
