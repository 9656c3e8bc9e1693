// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <commensal/base/core/limits_grpc.hpp>
#include <commensal/serve/oip_grpc/encoding.hpp>
#include <deque>
#include <limits>
#include <optional>
#include <utility>

namespace commensal::oip_grpc {

namespace {

namespace io = google::protobuf::io;
namespace pb = google::protobuf;

// What each takes beside its bytes, rounded up: measured with libprotobuf 3.21.
constexpr std::int64_t kMessageBytes = 384, kTextBytes = 96, kNumberBytes = 32;
constexpr int kDepthMax = 16;
constexpr std::uint32_t kWireTypeMask = 7, kWireTypeBits = 3;

/// The pieces of a message as one stream.
class Pieces {
 public:
  explicit Pieces(const http2::Message& message) {
    for (const std::string& piece : message.pieces) {
      parts_.emplace_back(piece.data(), static_cast<int>(piece.size()));
      streams_.push_back(&parts_.back());
    }
    whole_.emplace(streams_.data(), static_cast<int>(streams_.size()));
  }
  io::ZeroCopyInputStream* stream() { return &*whole_; }

 private:
  std::deque<io::ArrayInputStream> parts_;
  std::vector<io::ZeroCopyInputStream*> streams_;
  std::optional<io::ConcatenatingInputStream> whole_;
};

/// Walks over a message and what is in it, and makes nothing of it. Source: Protocol Buffers,
/// "Encoding".
class Walk {
 public:
  explicit Walk(io::ZeroCopyInputStream* from) : in_(from) {}

  bool all_of(const pb::Descriptor& type) {
    return fields_of(&type, 0) && in_.ConsumedEntireMessage();
  }
  bool is_too_many() const { return parts_ > limits::kGrpcPartsMax; }
  std::int64_t bytes() const { return bytes_; }

 private:
  bool fields_of(const pb::Descriptor* type, int depth) {
    bytes_ += kMessageBytes;
    if (++parts_ > limits::kGrpcPartsMax || depth > kDepthMax) return false;
    while (const std::uint32_t tag = in_.ReadTag()) {
      const pb::FieldDescriptor* const field =
          type->FindFieldByNumber(static_cast<int>(tag >> kWireTypeBits));
      if (!one_of(field, tag & kWireTypeMask, depth)) return false;
    }
    return true;
  }
  bool one_of(const pb::FieldDescriptor* field, std::uint32_t wire_type, int depth) {
    if (field == nullptr || field->is_repeated()) bytes_ += kNumberBytes;
    std::uint64_t number = 0;
    switch (wire_type) {
      case 0:
        return in_.ReadVarint64(&number);
      case 1:
        return in_.Skip(8);
      case 2:
        return sized(field, depth);
      case 5:
        return in_.Skip(4);
      default:
        return false;
    }
  }
  bool sized(const pb::FieldDescriptor* field, int depth) {
    int size = 0;
    if (!in_.ReadVarintSizeAsInt(&size)) return false;
    if (field != nullptr && field->message_type() != nullptr) {
      const auto limit = in_.PushLimit(size);
      const bool is_right =
          fields_of(field->message_type(), depth + 1) && in_.BytesUntilLimit() == 0;
      in_.PopLimit(limit);
      return is_right;
    }
    const bool is_numbers = field != nullptr && field->is_packable();
    bytes_ += is_numbers ? std::int64_t{size} * in_memory(*field) : kTextBytes + size;
    return in_.Skip(size);
  }
  /// Of a packed field, for a byte at most; a list that grows has room for as many again.
  static std::int64_t in_memory(const pb::FieldDescriptor& field) {
    switch (field.type()) {
      case pb::FieldDescriptor::TYPE_INT64:
      case pb::FieldDescriptor::TYPE_UINT64:
      case pb::FieldDescriptor::TYPE_SINT64:
        return 16;
      case pb::FieldDescriptor::TYPE_INT32:
      case pb::FieldDescriptor::TYPE_UINT32:
      case pb::FieldDescriptor::TYPE_SINT32:
      case pb::FieldDescriptor::TYPE_ENUM:
        return 8;
      default:
        return 2;
    }
  }

  io::CodedInputStream in_;
  std::int64_t bytes_ = 0;
  int parts_ = 0;
};

}  // namespace

bool parse(const http2::Message& from, pb::MessageLite& to) {
  if (from.pieces.size() <= 1) return to.ParseFromString(from.pieces.empty() ? "" : from.pieces[0]);
  Pieces pieces(from);
  return to.ParseFromZeroCopyStream(pieces.stream());
}

core::Result<std::int64_t> parsed_bytes(const http2::Message& from, const pb::Descriptor& type) {
  Pieces pieces(from);
  Walk walk(pieces.stream());
  if (walk.all_of(type)) return walk.bytes();
  if (walk.is_too_many())
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "the message has more than {} messages in it (tensors, parameters)",
                      limits::kGrpcPartsMax);
  return core::fail(core::ErrorCode::kInvalidArgument, "expected a message {}", type.full_name());
}

core::Result<http2::Message> encode(const google::protobuf::MessageLite& message) {
  http2::Message made;
  if (message.ByteSizeLong() > std::numeric_limits<int>::max() ||
      !message.SerializeToString(&made.pieces.emplace_back()))
    return core::fail(core::ErrorCode::kInternal, "the answer cannot be written");
  return made;
}

}  // namespace commensal::oip_grpc
