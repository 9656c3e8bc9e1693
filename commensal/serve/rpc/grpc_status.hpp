// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/status.h>

#include <commensal/base/core/result.hpp>

/// Errors of this project and of gRPC: the canonical codes are the same in both worlds.
/// Only this room's leaf sources include it. Pure functions.
namespace commensal::rpc {

grpc::Status to_status(const core::Error& error);
/// Precondition: not OK. Codes without a counterpart: CANCELLED is kUnavailable, the rest
/// kInternal.
core::Error from_status(const grpc::Status& status);

}  // namespace commensal::rpc
