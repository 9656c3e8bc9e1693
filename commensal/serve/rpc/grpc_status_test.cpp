// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc {
namespace {

using core::ErrorCode;

TEST(GrpcStatus, HasACounterpartForEveryError) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::kInternal); ++i) {
    const core::Error error{static_cast<ErrorCode>(i), "why"};
    EXPECT_EQ(from_status(to_status(error)).code, error.code) << core::name_of(error.code);
    EXPECT_EQ(from_status(to_status(error)).message, "why");
  }
  EXPECT_EQ(to_status({ErrorCode::kUnavailable, ""}).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(to_status({ErrorCode::kUnsupported, ""}).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(from_status(grpc::Status::CANCELLED).code, ErrorCode::kUnavailable);
  EXPECT_EQ(from_status({grpc::StatusCode::UNKNOWN, ""}).code, ErrorCode::kInternal);
  EXPECT_EQ(to_status({ErrorCode::kInternal, "a\nb"}).error_message(), "a b");
}

}  // namespace
}  // namespace commensal::rpc
