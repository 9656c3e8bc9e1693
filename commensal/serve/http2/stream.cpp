// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <commensal/base/core/check.hpp>
#include <commensal/serve/http2/stream.hpp>
#include <limits>

namespace commensal::http2 {
namespace {

constexpr std::size_t kPieceBytes = 256 << 10;

std::uint32_t read_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

std::string prefix_of(std::uint32_t bytes, bool is_compressed) {
  std::string made(1, is_compressed ? '\1' : '\0');
  for (int shift = 24; shift >= 0; shift -= 8) made += static_cast<char>(bytes >> shift);
  return made;
}

}  // namespace

std::int64_t Message::bytes() const {
  std::int64_t sum = 0;
  for (const std::string& piece : pieces) sum += std::ssize(piece);
  return sum;
}

Incoming::State Incoming::begin(Call& call) {
  if (static_cast<unsigned char>(head_[0]) > 1) return State::kBroken;
  message_.is_compressed = head_[0] == 1;
  left_ = read_u32(head_ + 1);
  if (!call.on_coming(left_)) return State::kRefused;
  return left_ == 0 ? State::kWhole : State::kPartial;
}

Incoming::Taken Incoming::take(std::string_view data, Call& call) {
  Taken taken;
  if (head_size_ < sizeof head_) {
    taken.bytes = std::min(data.size(), sizeof head_ - head_size_);
    std::ranges::copy(data.substr(0, taken.bytes), head_ + head_size_);
    head_size_ += taken.bytes;
    data.remove_prefix(taken.bytes);
    if (head_size_ < sizeof head_) return taken;
    taken.state = begin(call);
    if (taken.state != State::kPartial) return taken;
  }
  data = data.substr(0, static_cast<std::size_t>(left_));
  taken.bytes += data.size();
  left_ -= std::ssize(data);
  auto& pieces = message_.pieces;
  while (!data.empty()) {
    if (pieces.empty() || pieces.back().size() == kPieceBytes) {
      pieces.emplace_back();
    }
    const std::string_view part = data.substr(0, kPieceBytes - pieces.back().size());
    pieces.back() += part;
    data.remove_prefix(part.size());
  }
  if (left_ == 0) taken.state = State::kWhole;
  return taken;
}

Message Incoming::release() {
  head_size_ = 0;
  return std::exchange(message_, {});
}

void Outgoing::add(Message message) {
  const std::int64_t bytes = message.bytes();
  core::check(bytes <= std::numeric_limits<std::uint32_t>::max(), "a message of gRPC's has 4 GiB");
  std::string prefix = prefix_of(static_cast<std::uint32_t>(bytes), message.is_compressed);
  // What is small is one piece.
  if (message.pieces.size() == 1 && bytes < std::ssize(prefix) + 4'096) {
    prefix += message.pieces.front();
    message.pieces.clear();
  }
  bytes_ += bytes + 5;
  pieces_.push_back({std::move(prefix)});
  for (std::string& piece : message.pieces) {
    if (!piece.empty()) pieces_.push_back({std::move(piece)});
  }
  pieces_.back().is_last = true;
}

int Outgoing::move(std::string& to, std::size_t size) {
  int ended = 0;
  bytes_ -= static_cast<std::int64_t>(size);
  while (size > 0) {
    const Piece& piece = pieces_.front();
    const std::size_t part = std::min(size, piece.bytes.size() - at_);
    to.append(piece.bytes, at_, part);
    size -= part;
    at_ += part;
    if (at_ < piece.bytes.size()) break;
    ended += piece.is_last ? 1 : 0;
    pieces_.pop_front();
    at_ = 0;
  }
  return ended;
}

std::int64_t read_timeout_ns(std::string_view text) {
  constexpr std::size_t kDigitsMax = 8;
  if (text.size() < 2 || text.size() > kDigitsMax + 1) return 0;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end() - 1, number);
  if (error != std::errc() || end != text.end() - 1 || number <= 0) return 0;
  constexpr std::int64_t kSecond = 1'000'000'000;
  switch (text.back()) {
    case 'H':
      return std::min<std::int64_t>(number, 24 * 365) * 3'600 * kSecond;
    case 'M':
      return std::min<std::int64_t>(number, 60 * 24 * 365) * 60 * kSecond;
    case 'S':
      return number * kSecond;
    case 'm':
      return number * 1'000'000;
    case 'u':
      return number * 1'000;
    case 'n':
      return number;
    default:
      return 0;
  }
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string made;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%') {
      made += c;
    } else {
      made += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return made;
}

}  // namespace commensal::http2
