// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.pb.h>

#include <commensal/serve/rpc/messages.hpp>
#include <utility>
#include <vector>

/// messages.hpp to frames of the stream and back: the canonical encoding of a message, as of every
/// noun (base/protocol/encoding.hpp), with the elements of its tensors as a tail. Only this room's
/// leaf sources include it. Pure functions.
///
/// In the head a list of tensors is: u32 count; of each the name (a text), dtype (u8, ONNX's
/// number), rank (u8), dimensions (u64). The tail has the elements of all of them in that order.
/// A message's own texts are single lines of at most limits::kLineBytesMax bytes: others are made
/// such when they are written, and refused when they are read.
namespace commensal::rpc {

namespace wire = ::commensal::v1;

/// What is to be sent: its elements stay where they are until a piece of them is cut (Pieces).
struct Outgoing {
  std::string head;
  std::vector<tensor::Tensor> tensors;
  /// Of which jobs it speaks: before other jobs' large messages it may go. Absent: before none.
  std::optional<std::vector<core::Digest>> jobs;
};
Outgoing outgoing(const ToProvider& message);
Outgoing outgoing(const ToGateway& message);

/// The same in one frame, however large. Copies elements once.
wire::Frame to_frame(const ToProvider& message);
wire::Frame to_frame(const ToGateway& message);

/// `Message` is ToProvider or ToGateway. Trusts nothing: what to_frame would not have written is
/// refused in one line that names message and field. Elements stay where protobuf put them.
/// Errors: kInvalidArgument; kResourceExhausted beyond a bound; kUnsupported (version, dtype).
template <class Message>
core::Result<Message> from_frame(wire::Frame&& frame);
template <>
core::Result<ToProvider> from_frame<ToProvider>(wire::Frame&& frame);
template <>
core::Result<ToGateway> from_frame<ToGateway>(wire::Frame&& frame);

/// That, and what comes with it, in their order.
template <class Message>
core::Result<std::vector<Message>> from_bundle(wire::Frame&& frame) {
  std::vector<Message> messages;
  messages.reserve(1 + static_cast<std::size_t>(frame.rest_size()));
  auto rest = std::move(*frame.mutable_rest());
  COMMENSAL_ASSIGN(auto first, from_frame<Message>(std::move(frame)));
  messages.push_back(std::move(first));
  for (wire::Frame& one : rest) {
    COMMENSAL_ASSIGN(auto message, from_frame<Message>(std::move(one)));
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace commensal::rpc
