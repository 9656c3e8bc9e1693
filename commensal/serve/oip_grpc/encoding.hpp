// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <commensal/base/core/result.hpp>
#include <memory>

/// Messages as gRPC carries them; for this room's own sources only. Pure functions.
namespace commensal::oip_grpc {

/// `from` is empty then. Error: kInvalidArgument.
template <class Message>
core::Result<std::shared_ptr<Message>> decode(grpc::ByteBuffer& from) {
  auto message = std::make_shared<Message>();
  if (!grpc::SerializationTraits<Message>::Deserialize(&from, message.get()).ok())
    return core::fail(core::ErrorCode::kInvalidArgument, "expected a message {}",
                      message->GetTypeName());
  return message;
}

/// Error: kInternal (more than protobuf's 2 GiB).
template <class Message>
core::Result<grpc::ByteBuffer> encode(const Message& message) {
  grpc::ByteBuffer buffer;
  bool is_own = false;
  if (!grpc::SerializationTraits<Message>::Serialize(message, &buffer, &is_own).ok())
    return core::fail(core::ErrorCode::kInternal, "the answer cannot be written");
  return buffer;
}

}  // namespace commensal::oip_grpc
