// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/memory_budget.hpp>
#include <commensal/base/core/result.hpp>
#include <commensal/serve/http2/call.hpp>
#include <string_view>

/// Messages that come and go compressed. For this room's own sources only.
namespace commensal::oip_grpc {

/// What a call's grpc-encoding names.
enum class Compression : std::uint8_t { kNone, kDeflate, kGzip, kUnknown };  // deflate: RFC 1950
Compression compression_of(std::string_view encoding);
/// As grpc-encoding has it; "" of kNone and kUnknown.
std::string_view name_of(Compression compression);

/// What is compressed so as it was before; at most `bytes_max`, and no more than `memory` grants on
/// top of what it holds. Errors: kInvalidArgument, kInternal (kNone), kUnsupported (kUnknown),
/// those of the lease.
core::Result<http2::Message> inflated(const http2::Message& message, Compression how,
                                      std::int64_t bytes_max, core::MemoryBudget::Lease& memory);
/// Compressed, where that is shorter.
http2::Message deflated(http2::Message message, Compression how);

}  // namespace commensal::oip_grpc
