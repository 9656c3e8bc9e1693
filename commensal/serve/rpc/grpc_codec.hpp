// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/link.pb.h>

#include <commensal/serve/rpc/messages.hpp>

/// messages.hpp to protobuf and back. Only this room's leaf sources include it.
/// Decoding trusts nothing: what encoding would not have written is refused in one line that names
/// the message and the field. Pure functions.
namespace commensal::rpc {

namespace wire = ::commensal::v1;

wire::GatewayMessage to_wire(const ToProvider& message);
wire::ProviderMessage to_wire(const ToGateway& message);

/// Takes the elements of tensors out of `message` without copying them.
/// Errors: kInvalidArgument; kResourceExhausted, kUnsupported (dtype) from what is inside.
core::Result<ToProvider> from_wire(wire::GatewayMessage&& message);
core::Result<ToGateway> from_wire(wire::ProviderMessage&& message);

/// A digest from outside. Error: kInvalidArgument, naming `field`.
core::Result<core::Digest> digest_from_wire(std::string_view field, const std::string& bytes);

}  // namespace commensal::rpc
