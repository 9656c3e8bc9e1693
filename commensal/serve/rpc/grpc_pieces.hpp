// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.pb.h>

#include <commensal/base/core/result.hpp>
#include <commensal/serve/rpc/frame.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>

/// Large messages travel in pieces, so that gRPC never holds more than one piece of a peer that may
/// be a stranger. Only this room's leaf sources include it.
namespace commensal::rpc {

/// Cuts a message into frames of at most limits::kRpcFrameBytesMax of content, each when it is
/// asked for: what waits to be sent is not held twice. Thread-safety: one thread at a time.
class Pieces {
 public:
  explicit Pieces(Outgoing message);
  /// Of content, in all.
  std::size_t bytes() const { return bytes_; }
  bool is_over() const { return is_over_; }
  /// Precondition: not is_over().
  commensal::v1::Frame next();
  /// The rest is not sent.
  void drop() { is_over_ = true; }

 private:
  Outgoing message_;
  std::size_t bytes_ = 0;
  std::size_t left_ = 0;
  std::size_t part_ = 0;  // the head, then the tensors
  std::size_t at_ = 0;    // within it
  bool is_over_ = false;
};

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
