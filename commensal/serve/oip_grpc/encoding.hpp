// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message_lite.h>

#include <algorithm>
#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/http2/call.hpp>
#include <memory>

/// Messages as gRPC carries them; for this room's own sources only.
namespace commensal::oip_grpc {

/// False: it is none.
bool parse(const http2::Message& from, google::protobuf::MessageLite& to);

/// How much memory it takes once it is parsed, about and at most: two bytes may make a message of
/// hundreds. Errors: kInvalidArgument (it is no such message; more than limits::kGrpcPartsMax
/// messages in it).
core::Result<std::int64_t> parsed_bytes(const http2::Message& from,
                                        const google::protobuf::Descriptor& type);

/// `from` is empty then; `memory` holds what it takes. Errors: kInvalidArgument, the lease's.
template <class Message>
core::Result<std::shared_ptr<Message>> decode(http2::Message& from,
                                              core::MemoryBudget::Lease& memory) {
  const http2::Message whole = std::exchange(from, {});
  COMMENSAL_ASSIGN(const std::int64_t bytes, parsed_bytes(whole, *Message::descriptor()));
  COMMENSAL_TRY(memory.set(std::max(memory.bytes(), bytes)));
  auto message = std::make_shared<Message>();
  if (!parse(whole, *message))
    return core::fail(core::ErrorCode::kInvalidArgument, "expected a message {}",
                      message->GetTypeName());
  return message;
}

/// Error: kInternal (more than protobuf's 2 GiB).
core::Result<http2::Message> encode(const google::protobuf::MessageLite& message);

}  // namespace commensal::oip_grpc
