// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/v1/stream.pb.h>

#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

namespace commensal::rpc {

/// What waits to be written on one stream; one frame of it may be with gRPC already. In order, but
/// that small messages go between the pieces of a large one of other jobs: between two pieces as
/// many bytes as a piece has. Small ones that wait together go in one frame, where the peer reads
/// such. Bounded: a peer that does not read costs its stream, not memory.
/// Thread-safety: the stream's mutex.
class Outbox {
 public:
  void bundle() { bundles_ = true; }
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
  /// The next piece, which stays where it is until written(). Precondition: not empty().
  const commensal::v1::Frame* begin_writing() {
    writing_ = true;
    at_ = next();
    aside_bytes_ = at_ > 0 ? aside_bytes_ + items_[at_].bytes() : 0;
    piece_ = items_[at_].next();
    if (at_ > 0) piece_.set_aside(true);
    last_ = at_;
    if (bundles_ && at_ == 0) add_rest();
    return &piece_;
  }
  void written() {
    writing_ = false;
    piece_.Clear();
    frames_ += at_ == 0 ? 1 : 0;
    for (std::size_t i = last_ + 1; i-- > at_;) {
      if (items_[i].is_over()) erase(i);
    }
  }
  /// Nobody waits any more for large messages that speak of these jobs only.
  void forget(const std::vector<core::Digest>& jobs) {
    const auto is_forgotten = [&](const Pieces& one) {
      const auto is_one = [&](const core::Digest& job) {
        return std::ranges::count(jobs, job) > 0;
      };
      return one.bytes() > kPieceBytes && one.jobs() && std::ranges::all_of(*one.jobs(), is_one);
    };
    for (std::size_t i = items_.size(); i-- > 0;) {
      if (!is_forgotten(items_[i])) continue;
      if (items_[i].is_half_sent()) {
        items_[i].cut();
      } else if (!items_[i].is_over()) {
        erase(i);
        if (writing_ && i < at_) --at_, --last_;
      }
    }
  }
  /// How many frames have been written, ever, but for what went aside.
  std::uint64_t frames() const { return frames_; }
  /// More than a piece waits.
  bool has_much() const { return bytes_ > static_cast<std::int64_t>(kPieceBytes); }
  /// But for what is being written.
  void drop_waiting() {
    while (items_.size() > (writing_ ? last_ + 1 : 0)) erase(items_.size() - 1);
    for (; writing_ && at_ > 0; --at_, --last_) erase(0);
    if (writing_) items_.front().drop();
  }

 private:
  static constexpr std::size_t kSmallBytes = 32 << 10;
  static constexpr std::size_t kItemsMax = 16 * limits::kProviderQueueMax;
  static constexpr std::size_t kPieceBytes = limits::kRpcFrameBytesMax;
  static constexpr std::size_t kLooks = 64;

  /// The first, or what may go between its pieces: the first small one that speaks of no job that
  /// is spoken of before it, where nothing before it has to keep its place.
  std::size_t next() const {
    if (!items_.front().is_half_sent() || items_.front().is_cut() || aside_bytes_ >= kPieceBytes)
      return 0;
    for (std::size_t i = 0; i < std::min(items_.size(), kLooks) && items_[i].jobs(); ++i) {
      if (i > 0 && items_[i].bytes() <= kPieceBytes && !is_spoken_of_before(i)) return i;
    }
    return 0;
  }
  bool is_spoken_of_before(std::size_t i) const {
    return std::any_of(items_.begin(), items_.begin() + i, [&](const Pieces& earlier) {
      return std::ranges::find_first_of(*earlier.jobs(), *items_[i].jobs()) !=
             earlier.jobs()->end();
    });
  }
  /// To the first one, what follows it: small and whole, as it is.
  void add_rest() {
    std::size_t bytes = items_[0].bytes();
    while (bytes <= kSmallBytes && last_ + 1 < items_.size() &&
           std::cmp_less(last_ + 1, limits::kRpcBundleMax)) {
      bytes += items_[last_ + 1].bytes();
      if (bytes > kSmallBytes) return;
      *piece_.add_rest() = items_[++last_].next();
    }
  }
  void erase(std::size_t i) {
    bytes_ -= static_cast<std::int64_t>(items_[i].bytes());
    items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  std::deque<Pieces> items_;
  commensal::v1::Frame piece_;
  std::size_t at_ = 0, last_ = 0;  // of what piece_ is of
  std::size_t aside_bytes_ = 0;    // since the last piece of items_.front()
  std::int64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
  bool writing_ = false;
  bool bundles_ = false;
};

}  // namespace commensal::rpc
