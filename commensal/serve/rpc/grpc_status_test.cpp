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

TEST(GrpcStatus, WhatGrpcSaysOfConnectionsIsPutPlainly) {
  const std::pair<const char*, const char*> cases[] = {
      {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:8080: Trying to "
       "connect an http1.x server",
       "it speaks HTTP: expected the port for providers, not that for consumers"},
      {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Failed to "
       "connect to remote host: Connection refused",
       "nobody listens there"},
      {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:8443: Cannot check "
       "peer: missing selected ALPN property.",
       "it speaks HTTP: expected the port for providers, not that for consumers"},
      {"DNS resolution failed for x: C-ares status is not ARES_SUCCESS",
       "the name of the host is not known"},
      {"failed to connect to all addresses", "it cannot be reached"},
      {"failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:8090: Ssl "
       "handshake failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number",
       "that port does not speak TLS: --plain, or it is another one"},
      {"failed to connect to all addresses; last error: UNAVAILABLE: ipv4:127.0.0.1:8090: Socket "
       "closed",
       "it hung up before a word was said: does that port speak TLS (--tls)?"},
      {"Cancelling all calls", "it has ended"},
      {"Socket closed", "it has ended"},
      {"recvmsg:Connection reset by peer", "the connection broke"},
      {"Stream removed", "the connection broke"},
      {"the queues are full", "the queues are full"},
  };
  for (const auto& [theirs, ours] : cases) {
    EXPECT_EQ(from_status({grpc::StatusCode::UNAVAILABLE, theirs}).message, ours);
  }
  EXPECT_EQ(from_status({grpc::StatusCode::UNKNOWN, "Stream removed"}).message,
            "the connection broke");
  EXPECT_EQ(from_status(grpc::Status::CANCELLED).message, "it has ended");
}

}  // namespace
}  // namespace commensal::rpc
