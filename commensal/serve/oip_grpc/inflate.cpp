// SPDX-License-Identifier: Apache-2.0
#include <grpcpp/support/proto_buffer_reader.h>
#include <zlib.h>

#include <commensal/serve/oip_grpc/inflate.hpp>
#include <vector>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;

constexpr std::size_t kPiece = 256 << 10;
constexpr int kEitherFormat = 15 + 32;  // of zlib and of gzip, whichever begins there

/// gRPC tells C only how a message is compressed.
class Encoding final : public grpc::ProtoBufferReader {
 public:
  using ProtoBufferReader::ProtoBufferReader;
  grpc_compression_algorithm algorithm() { return reader()->buffer_in->data.raw.compression; }
};

class Inflater {
 public:
  Inflater() { is_ready_ = inflateInit2(&stream_, kEitherFormat) == Z_OK; }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  /// Hands what becomes of `part` to `take`, piece by piece.
  template <class Take>
  core::Result<void> add(const grpc::Slice& part, Take take) {
    stream_.next_in = const_cast<Bytef*>(part.begin());
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
                      "the compressed message is broken: expected gzip or deflate");
  }

  z_stream stream_{};
  bool is_ready_ = false, is_over_ = false, is_full_ = false;
  std::vector<Bytef> piece_ = std::vector<Bytef>(kPiece);
};

}  // namespace

grpc_compression_algorithm compression_of(grpc::ByteBuffer& message) {
  return message.Valid() ? Encoding(&message).algorithm() : GRPC_COMPRESS_NONE;
}

core::Result<grpc::ByteBuffer> inflated(const grpc::ByteBuffer& message, std::int64_t bytes_max,
                                        core::MemoryBudget::Lease& memory) {
  std::vector<grpc::Slice> parts, pieces;
  if (!message.Dump(&parts).ok())
    return core::fail(ErrorCode::kInternal, "the message cannot be read");
  Inflater inflater;
  std::int64_t bytes = 0;
  const std::int64_t held = memory.bytes();
  for (const grpc::Slice& part : parts) {
    COMMENSAL_TRY(inflater.add(part, [&](const Bytef* at, std::size_t size) -> core::Result<void> {
      bytes += static_cast<std::int64_t>(size);
      if (bytes > bytes_max)
        return core::fail(ErrorCode::kResourceExhausted,
                          "the message has more than {} bytes, decompressed", bytes_max);
      COMMENSAL_TRY(memory.set(held + bytes));
      if (size > 0) pieces.emplace_back(at, size);
      return {};
    }));
  }
  COMMENSAL_TRY(inflater.end());
  return grpc::ByteBuffer(pieces.data(), pieces.size());
}

}  // namespace commensal::oip_grpc
