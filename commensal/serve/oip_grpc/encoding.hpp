// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/message_lite.h>

#include <commensal/base/core/result.hpp>
#include <commensal/serve/http2/call.hpp>
#include <memory>

/// Messages as gRPC carries them; for this room's own sources only. Pure functions.
namespace commensal::oip_grpc {

/// False: it is none.
bool parse(const http2::Message& from, google::protobuf::MessageLite& to);

/// `from` is empty then. Error: kInvalidArgument.
template <class Message>
core::Result<std::shared_ptr<Message>> decode(http2::Message& from) {
  auto message = std::make_shared<Message>();
  const http2::Message whole = std::exchange(from, {});
  if (!parse(whole, *message))
    return core::fail(core::ErrorCode::kInvalidArgument, "expected a message {}",
                      message->GetTypeName());
  return message;
}

/// Error: kInternal (more than protobuf's 2 GiB).
core::Result<http2::Message> encode(const google::protobuf::MessageLite& message);

}  // namespace commensal::oip_grpc
