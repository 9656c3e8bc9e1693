// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/link.pb.h>
#include <grpcpp/support/status.h>
#include <commensal/base/core/limits_serve.hpp>

#include <commensal/base/core/result.hpp>
#include <optional>
#include <string_view>

/// Errors of this project and of gRPC: the canonical codes are the same in both worlds.
/// Only this room's leaf sources include it. Pure functions.
namespace commensal::rpc {

commensal::v1::ErrorCode code_to_wire(core::ErrorCode code);
std::optional<core::ErrorCode> code_from_wire(int code);

/// At most limits::kRpcErrorTextBytesMax bytes that neither a terminal nor UTF-8 stumbles over.
std::string one_line(std::string_view text);

grpc::Status to_status(const core::Error& error);
/// Precondition: not OK. Codes without a counterpart: CANCELLED is kUnavailable, the rest
/// kInternal.
core::Error from_status(const grpc::Status& status);

}  // namespace commensal::rpc
