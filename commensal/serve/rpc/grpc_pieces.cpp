// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
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

class Cutter {
 public:
  explicit Cutter(std::size_t bytes) : left_(bytes) { next(); }

  void head(std::string_view part) {
    put(part, [](Frame& piece) { return piece.mutable_head(); });
  }
  void tensor(std::string_view part) {
    pieces_.back().add_tensors();
    in_tensors_ = true;
    put(part, [](Frame& piece) { return piece.mutable_tensors(piece.tensors_size() - 1); });
  }
  std::deque<Frame> take() && { return std::move(pieces_); }

 private:
  void next() {
    if (!pieces_.empty()) pieces_.back().set_more(left_);
    pieces_.emplace_back();
    room_ = kPieceBytes;
    if (in_tensors_) pieces_.back().add_tensors();
  }
  template <class Target>
  void put(std::string_view part, Target target) {
    while (!part.empty()) {
      if (room_ == 0) next();
      const std::string_view now = part.substr(0, room_);
      target(pieces_.back())->append(now);
      part.remove_prefix(now.size());
      room_ -= now.size();
      left_ -= now.size();
    }
  }

  std::deque<Frame> pieces_;
  std::size_t left_;
  std::size_t room_ = 0;
  bool in_tensors_ = false;
};

}  // namespace

std::deque<Frame> pieces_of(Frame frame) {
  const std::size_t bytes = content_bytes(frame);
  std::deque<Frame> whole;
  if (bytes <= kPieceBytes) {
    whole.push_back(std::move(frame));
    return whole;
  }
  Cutter cutter(bytes);
  cutter.head(frame.head());
  for (const std::string& tensor : frame.tensors()) cutter.tensor(tensor);
  return std::move(cutter).take();
}

core::Result<std::optional<Frame>> Assembly::add(Frame&& piece, std::int64_t bytes_max) {
  const auto more = piece.more();
  const std::size_t bytes = content_bytes(piece);
  bytes_ += static_cast<std::int64_t>(bytes);
  if (std::cmp_greater(more, bytes_max) || bytes_ + static_cast<std::int64_t>(more) > bytes_max) {
    return core::fail(core::ErrorCode::kResourceExhausted,
                      "a message of more than {} bytes, the most that is accepted here", bytes_max);
  }
  if (more > 0 && bytes == 0) {
    return core::fail(core::ErrorCode::kInvalidArgument, "an empty piece of a message");
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
    whole_.mutable_tensors(whole_.tensors_size() - 1)->append(piece.tensors(next++));
  }
  for (; next < piece.tensors_size(); ++next) {
    whole_.add_tensors(std::move(*piece.mutable_tensors(next)));
  }
  if (more > 0) {
    // All of what comes may be the last one's: it grows once.
    if (whole_.tensors_size() > 0) {
      std::string& last = *whole_.mutable_tensors(whole_.tensors_size() - 1);
      last.reserve(last.size() + more);
    }
    return std::optional<Frame>();
  }
  bytes_ = 0;
  return std::optional(std::exchange(whole_, Frame()));
}

}  // namespace commensal::rpc
