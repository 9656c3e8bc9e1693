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
  const std::optional<std::vector<core::Digest>>& jobs() const { return message_.jobs; }
  bool is_half_sent() const { return !is_over_ && left_ < bytes_; }
  bool is_over() const { return is_over_; }
  /// Precondition: not is_over().
  commensal::v1::Frame next();
  /// The rest is not sent.
  void drop() { is_over_ = true; }
  /// Nor is it, and the other side is told so: one piece more.
  void cut() { is_cut_ = true; }
  bool is_cut() const { return is_cut_; }

 private:
  commensal::v1::Frame whole();

  Outgoing message_;
  std::size_t bytes_ = 0;
  std::size_t left_ = 0;
  std::size_t part_ = 0;  // the head, then the tensors
  std::size_t at_ = 0;    // within it
  bool is_over_ = false;
  bool is_cut_ = false;
};

/// Whether a message in pieces goes on: between two looks one full piece comes at least. What has
/// begun since the last look is let be. Thread-safety: one thread at a time.
class PieceWatch {
 public:
  /// One has come. True: look() is to be called in limits::kRpcLookMs, which it was not before.
  bool on_piece(bool is_last);
  enum class Finding : std::uint8_t { kOver, kGoesOn, kTooSlow };
  /// kGoesOn: it is to be called again after that time. kOver: nothing is half sent.
  Finding look();

 private:
  bool is_watched_ = false;
  bool is_half_sent_ = false;
  bool is_new_ = false;    // what is half sent: it has begun since the last look
  bool has_come_ = false;  // a piece of it, since then
};

/// Joins pieces again. Thread-safety: one thread at a time.
class Assembly {
 public:
  /// The whole frame, or nothing where more is to come. Takes memory for what has come only.
  /// A message aside is whole at once, one that is cut never. Errors: kResourceExhausted (more than
  /// `bytes_max`, too many tensors, or messages in one frame), kInvalidArgument (a piece before the
  /// last is not full, an aside or a bundle has pieces, or nothing is there to be cut).
  core::Result<std::optional<commensal::v1::Frame>> add(commensal::v1::Frame&& piece,
                                                        std::int64_t bytes_max);
  /// Of the message that is half there.
  std::int64_t bytes() const { return bytes_; }

 private:
  core::Result<void> check_bundle(const commensal::v1::Frame& bundle, std::int64_t bytes_max) const;

  commensal::v1::Frame whole_;
  std::int64_t bytes_ = 0;  // of whole_
};

}  // namespace commensal::rpc
