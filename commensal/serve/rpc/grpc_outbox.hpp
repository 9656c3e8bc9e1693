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
  /// In pieces, where it is large. False where the frame is beyond what the peer accepts, or the
  /// queue is full.
  bool push(commensal::v1::Frame frame) {
    const auto bytes = static_cast<std::int64_t>(frame.ByteSizeLong());
    if (bytes > limits::kRpcMessageBytesMax || bytes_ + bytes > limits::kRpcOutboxBytesMax)
      return false;
    if (items_.size() >= kItemsMax) return false;
    bytes_ += bytes;
    auto pieces = pieces_of(std::move(frame));
    for (auto& piece : pieces) items_.push_back({std::move(piece), 0});
    items_.back().bytes = bytes;  // given back when the last of them is written
    return true;
  }
  bool empty() const { return items_.empty(); }
  bool writing() const { return writing_; }
  /// The head, which stays where it is until written().
  const commensal::v1::Frame* begin_writing() {
    writing_ = true;
    return &items_.front().frame;
  }
  void written() {
    writing_ = false;
    bytes_ -= items_.front().bytes;
    items_.pop_front();
  }
  void drop_waiting() {
    while (items_.size() > (writing_ ? 1u : 0u)) {
      bytes_ -= items_.back().bytes;
      items_.pop_back();
    }
  }

 private:
  static constexpr std::size_t kItemsMax = 16 * limits::kProviderQueueMax;

  struct Item {
    commensal::v1::Frame frame;
    std::int64_t bytes;
  };
  std::deque<Item> items_;
  std::int64_t bytes_ = 0;
  bool writing_ = false;
};

}  // namespace commensal::rpc
