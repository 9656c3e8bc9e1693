// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/crypto/sha256.hpp>
#include <commensal/serve/gateway/model_file.hpp>
#include <fstream>

namespace commensal::gateway {
namespace {

/// Not mapped: where the disk fails, or somebody cuts the file meanwhile, that would end the
/// process. False: it cannot be read to its end, or `take` wants no more of it.
template <class Take>
bool read_in_pieces(const core::Path& file, const Take& take) {
  constexpr std::size_t kPieceBytes = 1 << 20;
  std::ifstream from(file, std::ios::binary);
  core::Bytes piece(kPieceBytes);
  while (from) {
    from.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    if (!take(core::ByteView(piece).first(static_cast<std::size_t>(from.gcount())))) return false;
  }
  return from.eof();
}

}  // namespace

bool holds(const core::Path& file, core::ByteView bytes) {
  core::ByteView left = bytes;
  const bool is_same = read_in_pieces(file, [&](core::ByteView piece) {
    if (piece.size() > left.size()) return false;
    if (!std::ranges::equal(piece, left.first(piece.size()))) return false;
    left = left.subspan(piece.size());
    return true;
  });
  return is_same && left.empty();
}

core::Result<void> check_model_file(const core::Path& file, const core::Digest& content) {
  crypto::Sha256 hash;
  std::int64_t bytes = 0;
  const bool is_read = read_in_pieces(file, [&](core::ByteView piece) {
    hash.update(piece);
    return (bytes += std::ssize(piece)) <= limits::kModelBytesMax;
  });
  if (is_read && hash.finish() == content) return {};
  return core::fail(core::ErrorCode::kDataLoss, "'{}' is {}", file.string(),
                    is_read ? "damaged" : "missing or cannot be read");
}

bool Doubts::begin(const core::Digest& content, std::int64_t now_ms) {
  if (now_ || now_ms < next_ms_) return false;
  std::erase_if(until_ms_, [&](const auto& one) { return one.second <= now_ms; });
  if (until_ms_.contains(content)) return false;
  now_ = content;
  return true;
}

void Doubts::end(std::int64_t took_ms, std::int64_t now_ms) {
  constexpr std::int64_t kEveryMs = 10'000;  // of each file
  constexpr std::int64_t kRestMs = 10;       // at least: so few are remembered
  next_ms_ = now_ms + std::max(kRestMs, 9 * took_ms);
  until_ms_[*now_] = next_ms_ + kEveryMs;
  now_.reset();
}

}  // namespace commensal::gateway
