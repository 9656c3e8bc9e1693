// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/serve/rpc/grpc_codec.hpp>

/// Parts of messages, as they are read off the wire. The first refusal ends it; it names the field.
namespace commensal::rpc::parts {

using core::Result;

template <std::size_t kSize>
Result<void> take(std::array<std::uint8_t, kSize>& out, std::string_view field,
                  const std::string& bytes) {
  if (bytes.size() != kSize) {
    return core::fail(core::ErrorCode::kInvalidArgument, "{} has {} bytes, not {}", field,
                      bytes.size(), kSize);
  }
  std::copy(bytes.begin(), bytes.end(), out.begin());
  return {};
}

template <protocol::Noun N>
Result<void> take(N& out, std::string_view field, const std::string& bytes) {
  auto decoded = protocol::decode<N>(core::as_bytes(bytes));
  if (!decoded) return core::in_context(field, decoded.error());
  out = *std::move(decoded);
  return {};
}

/// At most `count_max` items.
Result<void> check_count(std::string_view field, std::size_t count, std::size_t count_max);
/// One line of UTF-8, of at most `size_max` bytes.
Result<void> take(std::string& out, std::string_view field, const std::string& text,
                  std::size_t size_max);
Result<void> take(core::Error& out, std::string_view field, const wire::Error& error);
Result<void> take(std::vector<core::Digest>& out, std::string_view field,
                  const google::protobuf::RepeatedPtrField<std::string>& digests);
/// The elements stay where protobuf put them.
Result<void> take(tensor::NamedTensors& out, std::string_view field,
                  google::protobuf::RepeatedPtrField<wire::Tensor>& tensors);
Result<void> take(protocol::Amount& out, std::string_view field, const std::string& bytes);
Result<void> take(ChainPosition& out, std::string_view field, const wire::ChainPosition& from);

}  // namespace commensal::rpc::parts
