// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <commensal/serve/oip_grpc/encoding.hpp>
#include <deque>
#include <limits>
#include <utility>

namespace commensal::oip_grpc {

bool parse(const http2::Message& from, google::protobuf::MessageLite& to) {
  namespace io = google::protobuf::io;
  if (from.pieces.size() <= 1) return to.ParseFromString(from.pieces.empty() ? "" : from.pieces[0]);
  std::deque<io::ArrayInputStream> parts;
  std::vector<io::ZeroCopyInputStream*> streams;
  for (const std::string& piece : from.pieces) {
    parts.emplace_back(piece.data(), static_cast<int>(piece.size()));
    streams.push_back(&parts.back());
  }
  io::ConcatenatingInputStream whole(streams.data(), static_cast<int>(streams.size()));
  return to.ParseFromZeroCopyStream(&whole);
}

core::Result<http2::Message> encode(const google::protobuf::MessageLite& message) {
  http2::Message made;
  if (message.ByteSizeLong() > std::numeric_limits<int>::max() ||
      !message.SerializeToString(&made.pieces.emplace_back()))
    return core::fail(core::ErrorCode::kInternal, "the answer cannot be written");
  return made;
}

}  // namespace commensal::oip_grpc
