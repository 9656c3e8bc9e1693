// SPDX-License-Identifier: Apache-2.0
#include <zlib.h>

#include <commensal/serve/oip_grpc/compression.hpp>
#include <vector>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;

constexpr std::size_t kPiece = 256 << 10;
constexpr int kZlibFormat = 15, kGzipFormat = 15 + 16;
constexpr int kMemoryLevel = 8;  // zlib's default

int format_of(Compression how) { return how == Compression::kGzip ? kGzipFormat : kZlibFormat; }

class Inflater {
 public:
  explicit Inflater(Compression how) { is_ready_ = inflateInit2(&stream_, format_of(how)) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Hands what becomes of `part` to `take`, piece by piece.
  template <class Take>
  core::Result<void> add(const std::string& part, Take take) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
    stream_.avail_in = static_cast<uInt>(part.size());
    while (is_ready_ && !is_over_ && (stream_.avail_in > 0 || is_full_)) {
      stream_.next_out = piece_.data();
      stream_.avail_out = static_cast<uInt>(piece_.size());
      const int said = inflate(&stream_, Z_NO_FLUSH);
      is_over_ = said == Z_STREAM_END;
      if (said != Z_OK && said != Z_STREAM_END && said != Z_BUF_ERROR) break;
      is_full_ = stream_.avail_out == 0;
      COMMENSAL_TRY(take(piece_.data(), piece_.size() - stream_.avail_out));
      if (said == Z_BUF_ERROR) return {};
    }
    const bool is_whole = stream_.avail_in == 0;
    return is_ready_ && is_whole ? core::Result<void>() : broken();
  }
  core::Result<void> end() const { return is_over_ ? core::Result<void>() : broken(); }

 private:
  static tl::unexpected<core::Error> broken() {
    return core::fail(ErrorCode::kInvalidArgument,
                      "the compressed message is broken: expected what grpc-encoding names");
  }

  z_stream stream_{};
  bool is_ready_ = false, is_over_ = false, is_full_ = false;
  std::vector<Bytef> piece_ = std::vector<Bytef>(kPiece);
};

}  // namespace

Compression compression_of(std::string_view encoding) {
  if (encoding.empty() || encoding == "identity") return Compression::kNone;
  if (encoding == "gzip") return Compression::kGzip;
  return encoding == "deflate" ? Compression::kDeflate : Compression::kUnknown;
}

std::string_view name_of(Compression compression) {
  if (compression == Compression::kGzip) return "gzip";
  return compression == Compression::kDeflate ? "deflate" : "";
}

core::Result<http2::Message> inflated(const http2::Message& message, Compression how,
                                      std::int64_t bytes_max, core::MemoryBudget::Lease& memory) {
  if (how == Compression::kNone)
    return core::fail(ErrorCode::kInternal,
                      "a message is compressed, and the call's grpc-encoding names nothing");
  if (how == Compression::kUnknown)
    return core::fail(ErrorCode::kUnsupported,
                      "a message is compressed in a way that is unknown here: expected the call's "
                      "grpc-encoding gzip or deflate");
  http2::Message made;
  Inflater inflater(how);
  std::int64_t bytes = 0;
  const std::int64_t held = memory.bytes();
  for (const std::string& part : message.pieces) {
    COMMENSAL_TRY(inflater.add(part, [&](const Bytef* at, std::size_t size) -> core::Result<void> {
      bytes += static_cast<std::int64_t>(size);
      if (bytes > bytes_max)
        return core::fail(ErrorCode::kResourceExhausted,
                          "the message has more than {} bytes, decompressed", bytes_max);
      COMMENSAL_TRY(memory.set(held + bytes));
      if (size > 0) made.pieces.emplace_back(reinterpret_cast<const char*>(at), size);
      return {};
    }));
  }
  COMMENSAL_TRY(inflater.end());
  return made;
}

http2::Message deflated(http2::Message message, Compression how) {
  if (name_of(how).empty()) return message;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, format_of(how), kMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    return message;
  http2::Message made{.pieces = {}, .is_compressed = true};
  std::string room(kPiece, '\0');
  for (std::size_t i = 0; i < message.pieces.size(); ++i) {
    const std::string& piece = message.pieces[i];
    const int flush = i + 1 == message.pieces.size() ? Z_FINISH : Z_NO_FLUSH;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));
    stream.avail_in = static_cast<uInt>(piece.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(room.data());
      stream.avail_out = static_cast<uInt>(room.size());
      deflate(&stream, flush);
      if (stream.avail_out < room.size())
        made.pieces.push_back(room.substr(0, room.size() - stream.avail_out));
    } while (stream.avail_out == 0);
  }
  deflateEnd(&stream);
  return made.bytes() < message.bytes() ? made : message;
}

}  // namespace commensal::oip_grpc
