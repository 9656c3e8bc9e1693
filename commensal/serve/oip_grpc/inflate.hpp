// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/result.hpp>

/// gRPC inflates a message before anybody can say how large it may become, so we do. For this
/// room's own sources only.
namespace commensal::oip_grpc {

/// How a message came: gzip, deflate (RFC 1950), or as it is.
grpc_compression_algorithm compression_of(grpc::ByteBuffer& message);

/// What is compressed as it was before; at most `bytes_max`, and no more than `memory` grants on
/// top of what it holds. Errors: kInvalidArgument, those of the lease.
core::Result<grpc::ByteBuffer> inflated(const grpc::ByteBuffer& message, std::int64_t bytes_max,
                                        core::MemoryBudget::Lease& memory);

}  // namespace commensal::oip_grpc
