// SPDX-License-Identifier: Apache-2.0
// Fuzz target (tests/fuzz), here because it sees the wire. Pieces of messages in any order and of
// any claim: what is joined is within its bound, and is what was sent. Then one message there and
// back.
#include <algorithm>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_pieces.hpp>
#include <string>

namespace {

using namespace commensal;
using v1::Frame;

constexpr auto kFull = static_cast<std::size_t>(limits::kRpcFrameBytesMax);

std::size_t bytes_of(const Frame& frame) {
  std::size_t bytes = frame.head().size();
  for (const std::string& tensor : frame.tensors()) bytes += tensor.size();
  for (const Frame& one : frame.rest()) bytes += bytes_of(one);
  return bytes;
}

/// A byte says how much of what comes next; the rest of the input is content.
class Pieces {
 public:
  Pieces(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_over() const { return at_ >= size_; }
  std::uint8_t byte() { return is_over() ? 0 : data_[at_++]; }
  std::string content() {
    const std::size_t length = std::min<std::size_t>(byte(), size_ - std::min(at_, size_));
    std::string text(reinterpret_cast<const char*>(data_) + at_, length);
    at_ += length;
    return text;
  }
  Frame next() {
    Frame piece;
    const std::uint8_t kind = byte();
    if (kind & 1) piece.set_head(content());
    for (int i = 0; i < (kind >> 1 & 3); ++i) *piece.add_tensors() = content();
    // All but the last of a message are full.
    const std::size_t bytes = bytes_of(piece);
    if (kind & 16 && bytes < kFull) piece.mutable_head()->append(kFull - bytes, 'f');
    const std::uint64_t more = byte();
    piece.set_more(kind & 8 ? more << 56 : more);
    piece.set_aside(kind & 32);
    if (kind & 64) piece.set_cut(true);
    if (kind & 128 && !is_over()) *piece.add_rest() = next();
    return piece;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

void assemble(Pieces pieces, std::int64_t bytes_max) {
  rpc::Assembly assembly;
  std::size_t sent = 0;
  while (!pieces.is_over()) {
    Frame piece = pieces.next();
    const bool is_aside = piece.aside(), is_cut = piece.cut();
    const std::size_t bytes = bytes_of(piece);
    if (!is_aside) sent += bytes;
    const auto whole = assembly.add(std::move(piece), bytes_max);
    if (!whole) {
      core::check(whole.error().message.find('\n') == std::string::npos, "an error is one line");
      return;
    }
    if (is_cut) sent = 0;
    if (!*whole) continue;
    core::check(bytes_of(**whole) == (is_aside ? bytes : sent), "nothing is lost or added");
    core::check(std::cmp_less_equal(sent, bytes_max), "a message is within its bound");
    if (!is_aside) sent = 0;
  }
}

tensor::Tensor bytes_tensor(std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  const tensor::TensorType type{tensor::DType::kUint8, {static_cast<std::int64_t>(owner->size())}};
  return tensor::Tensor::view_of(type, core::as_bytes(*owner), owner);
}

/// The same bytes many times over, so that it is cut.
void there_and_back(Pieces pieces) {
  Frame frame = pieces.next();
  const auto grow = [](std::string& text) {
    while (!text.empty() && text.size() < 4 * kFull) text += std::string(text);
  };
  grow(*frame.mutable_head());
  for (std::string& tensor : *frame.mutable_tensors()) grow(tensor);
  frame.clear_more();
  frame.clear_aside();
  frame.clear_cut();
  frame.clear_rest();
  const std::string before = frame.SerializeAsString();
  rpc::Outgoing message{.head = frame.head(), .tensors = {}, .jobs = {}};
  for (const std::string& tensor : frame.tensors()) message.tensors.push_back(bytes_tensor(tensor));
  rpc::Assembly assembly;
  for (rpc::Pieces cut(std::move(message)); !cut.is_over();) {
    auto whole = assembly.add(cut.next(), limits::kRpcMessageBytesMax);
    core::check(whole.has_value(), "what was cut is accepted");
    core::check(whole->has_value() == cut.is_over(), "it is whole with its last piece");
    if (*whole) core::check((*whole)->SerializeAsString() == before, "it is what it was");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assemble(Pieces(data, size), 1 << 10);
  assemble(Pieces(data, size), std::int64_t{1} << 24);
  there_and_back(Pieces(data, size));
  return 0;
}
