// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/base/core/pages.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <utility>

namespace commensal::rpc {
namespace {

using commensal::v1::Frame;

constexpr auto kPieceBytes = static_cast<std::size_t>(limits::kRpcFrameBytesMax);

std::size_t content_bytes(const Frame& frame) {
  std::size_t bytes = frame.head().size();
  for (const std::string& tensor : frame.tensors()) bytes += tensor.size();
  return bytes;
}

/// All of what comes may be this one's: it grows a few times. What is announced only takes no room:
/// as much as has come of it, four times.
void append(std::string& tensor, const std::string& part, std::size_t more) {
  const std::size_t size = tensor.size() + part.size();
  if (size > tensor.capacity()) {
    std::string grown;
    grown.reserve(std::min(size + more, 4 * size));
    core::prefer_large_pages(grown.data(), grown.capacity());
    tensor = std::move(grown.append(tensor));
  }
  tensor.append(part);
}

}  // namespace

Pieces::Pieces(Outgoing message) : message_(std::move(message)), bytes_(message_.head.size()) {
  for (const tensor::Tensor& one : message_.tensors) bytes_ += one.bytes().size();
  left_ = bytes_;
}

Frame Pieces::next() {
  Frame piece;
  if (is_cut_) {
    is_over_ = true;
    piece.set_cut(true);
    return piece;
  }
  if (left_ == bytes_ && bytes_ <= kPieceBytes) return whole();
  std::size_t room = kPieceBytes;
  // A tensor that is cut goes on as the next piece's first.
  for (; part_ <= message_.tensors.size(); ++part_, at_ = 0) {
    const core::ByteView part = part_ == 0 ? core::as_bytes(message_.head)
                                           : core::ByteView(message_.tensors[part_ - 1].bytes());
    const core::ByteView now = part.subspan(at_, std::min(room, part.size() - at_));
    const std::string_view text = core::as_text(now);
    part_ == 0 ? piece.set_head(std::string(text)) : piece.add_tensors(std::string(text));
    at_ += now.size();
    room -= now.size();
    left_ -= now.size();
    if (at_ < part.size()) break;
  }
  is_over_ = part_ > message_.tensors.size();
  piece.set_more(left_);
  return piece;
}

/// What goes in one frame.
Frame Pieces::whole() {
  Frame frame;
  frame.set_head(std::move(message_.head));
  for (const tensor::Tensor& one : message_.tensors)
    frame.add_tensors(one.bytes().data(), one.bytes().size());
  left_ = 0;
  is_over_ = true;
  return frame;
}

core::Result<void> Assembly::check_bundle(const Frame& bundle, std::int64_t bytes_max) const {
  if (bytes_ > 0 || bundle.more() > 0 || bundle.aside() || bundle.cut())
    return core::fail(core::ErrorCode::kInvalidArgument, "a bundle of messages among pieces");
  if (bundle.rest_size() >= limits::kRpcBundleMax)
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "a frame of more than {} messages, the most that are accepted",
                      limits::kRpcBundleMax);
  std::size_t bytes = content_bytes(bundle);
  for (const Frame& one : bundle.rest()) {
    if (one.more() > 0 || one.aside() || one.cut() || one.rest_size() > 0)
      return core::fail(core::ErrorCode::kInvalidArgument, "a bundle of messages in pieces");
    bytes += content_bytes(one);
  }
  if (std::cmp_greater(bytes, bytes_max))
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "messages of more than {} bytes, the most that is accepted here", bytes_max);
  return {};
}

core::Result<std::optional<Frame>> Assembly::add(Frame&& piece, std::int64_t bytes_max) {
  const auto more = piece.more();
  if (piece.rest_size() > 0) {
    COMMENSAL_TRY(check_bundle(piece, bytes_max));
    return std::optional(std::move(piece));
  }
  if (piece.aside()) {
    if (more > 0) return core::fail(core::ErrorCode::kInvalidArgument, "a piece of an aside");
    piece.clear_aside();
    return Assembly().add(std::move(piece), bytes_max);
  }
  if (piece.cut()) {
    if (bytes_ == 0) return core::fail(core::ErrorCode::kInvalidArgument, "nothing is to be cut");
    bytes_ = 0;
    whole_ = Frame();
    return std::optional<Frame>();
  }
  const std::size_t bytes = content_bytes(piece);
  bytes_ += static_cast<std::int64_t>(bytes);
  if (std::cmp_greater(more, bytes_max) || bytes_ + static_cast<std::int64_t>(more) > bytes_max) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "a message of more than {} bytes, the most that is accepted here", bytes_max);
  }
  if (more > 0 && bytes != kPieceBytes) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "a piece of {} bytes before the last: expected {}", bytes, kPieceBytes);
  }
  const auto tensors_max = static_cast<std::size_t>(limits::kInferTensorsMax);
  if (std::cmp_greater(whole_.tensors_size() + piece.tensors_size(), tensors_max + 1)) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "a message of more than {} tensors, the most that are accepted", tensors_max);
  }
  piece.clear_more();
  if (bytes_ == static_cast<std::int64_t>(bytes) && more == 0) {
    bytes_ = 0;
    return std::optional(std::move(piece));
  }
  whole_.mutable_head()->append(piece.head());
  int next = 0;
  if (whole_.tensors_size() > 0 && piece.tensors_size() > 0) {
    append(*whole_.mutable_tensors(whole_.tensors_size() - 1), piece.tensors(next++), more);
  }
  for (; next < piece.tensors_size(); ++next) {
    whole_.add_tensors(std::move(*piece.mutable_tensors(next)));
  }
  if (more > 0) return std::optional<Frame>();
  bytes_ = 0;
  return std::optional(std::exchange(whole_, Frame()));
}

bool PieceWatch::on_piece(bool is_last) {
  has_come_ = true;
  if (!std::exchange(is_half_sent_, !is_last)) is_new_ = true;
  return is_half_sent_ && !std::exchange(is_watched_, true);
}

PieceWatch::Finding PieceWatch::look() {
  const bool has_come = std::exchange(has_come_, false);
  const bool is_new = std::exchange(is_new_, false);
  if (is_half_sent_ && (has_come || is_new)) return Finding::kGoesOn;
  is_watched_ = false;
  return is_half_sent_ ? Finding::kTooSlow : Finding::kOver;
}

}  // namespace commensal::rpc
