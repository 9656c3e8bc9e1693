// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.pb.h>

#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace commensal::rpc {

/// What waits to be written on one stream, in order; its head may be with gRPC already, which
/// writes one frame at a time. Bounded: a peer that does not read costs its stream, not memory.
/// Thread-safety: the stream's mutex.
class Outbox {
 public:
  /// False where the message is beyond what the peer accepts, or the queue is full.
  bool push(Outgoing message) {
    Pieces pieces(std::move(message));
    const auto bytes = static_cast<std::int64_t>(pieces.bytes());
    if (bytes > limits::kRpcMessageBytesMax || bytes_ + bytes > limits::kRpcOutboxBytesMax)
      return false;
    if (items_.size() >= kItemsMax) return false;
    bytes_ += bytes;
    items_.push_back(std::move(pieces));
    return true;
  }
  bool empty() const { return items_.empty(); }
  bool writing() const { return writing_; }
  /// The next piece, which stays where it is until written().
  const commensal::v1::Frame* begin_writing() {
    writing_ = true;
    piece_ = items_.front().next();
    return &piece_;
  }
  void written() {
    writing_ = false;
    piece_.Clear();
    if (items_.front().is_over()) pop();
  }
  void drop_waiting() {
    while (items_.size() > 1) {
      bytes_ -= static_cast<std::int64_t>(items_.back().bytes());
      items_.pop_back();
    }
    if (items_.empty()) return;
    items_.front().drop();
    if (!writing_) pop();
  }

 private:
  static constexpr std::size_t kItemsMax = 16 * limits::kProviderQueueMax;

  void pop() {
    bytes_ -= static_cast<std::int64_t>(items_.front().bytes());
    items_.pop_front();
  }

  std::deque<Pieces> items_;
  commensal::v1::Frame piece_;
  std::int64_t bytes_ = 0;
  bool writing_ = false;
};

}  // namespace commensal::rpc
