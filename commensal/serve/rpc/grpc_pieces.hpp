// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.pb.h>

#include <commensal/base/core/result.hpp>
#include <cstdint>
#include <deque>
#include <optional>

/// Large messages travel in pieces, so that gRPC never holds more than one piece of a peer that may
/// be a stranger. Only this room's leaf sources include it.
namespace commensal::rpc {

/// The frame itself where it has at most limits::kRpcFrameBytesMax of content.
std::deque<commensal::v1::Frame> pieces_of(commensal::v1::Frame frame);

/// Joins pieces again. Thread-safety: one thread at a time.
class Assembly {
 public:
  /// The whole frame, or nothing where more is to come.
  /// Errors: kResourceExhausted (more than `bytes_max`, or too many tensors), kInvalidArgument.
  core::Result<std::optional<commensal::v1::Frame>> add(commensal::v1::Frame&& piece,
                                                        std::int64_t bytes_max);

 private:
  commensal::v1::Frame whole_;
  std::int64_t bytes_ = 0;  // of whole_
};

}  // namespace commensal::rpc
