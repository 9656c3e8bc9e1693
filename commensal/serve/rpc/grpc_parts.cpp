// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_serve.hpp>
#include <commensal/serve/rpc/grpc_parts.hpp>
#include <commensal/serve/rpc/grpc_status.hpp>

namespace commensal::rpc::parts {

using core::ErrorCode;

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// The elements stay where protobuf put them; the heap aligns them for every type.
Result<tensor::Tensor> tensor_from_wire(wire::Tensor& from) {
  constexpr std::uint32_t kDTypeMax = 255;
  COMMENSAL_ASSIGN(const tensor::DType dtype,
                   tensor::dtype_from_onnx(static_cast<int>(std::min(from.dtype(), kDTypeMax))));
  COMMENSAL_ASSIGN(
      const tensor::Shape shape,
      tensor::Shape::of({from.dims().data(), static_cast<std::size_t>(from.dims_size())}));
  const tensor::TensorType type{dtype, shape};
  if (static_cast<std::int64_t>(from.data().size()) != type.bytes()) {
    return core::fail(ErrorCode::kInvalidArgument, "{} bytes for {}, which has {}",
                      from.data().size(), type.text(), type.bytes());
  }
  COMMENSAL_TRY(tensor::check_elements(dtype, core::as_bytes(from.data())));
  const auto owner = std::make_shared<const std::string>(std::move(*from.mutable_data()));
  return tensor::Tensor::view_of(type, core::as_bytes(*owner), owner);
}

}  // namespace

Result<void> check_count(std::string_view field, std::size_t count, std::size_t count_max) {
  if (count <= count_max) return {};
  return core::fail(ErrorCode::kInvalidArgument, "{} has {} items, at most {} are accepted", field,
                    count, count_max);
}

Result<void> take(std::string& out, std::string_view field, const std::string& text,
                  std::size_t size_max) {
  if (text.size() > size_max) {
    return core::fail(ErrorCode::kInvalidArgument, "{} has {} bytes, at most {} are accepted",
                      field, text.size(), size_max);
  }
  if (!protocol::is_utf8(text) || std::any_of(text.begin(), text.end(), is_control)) {
    return core::fail(ErrorCode::kInvalidArgument, "{} is not one line of UTF-8", field);
  }
  out = text;
  return {};
}

Result<void> take(core::Error& out, std::string_view field, const wire::Error& error) {
  const auto code = code_from_wire(error.code());
  if (!code) {
    return core::fail(ErrorCode::kInvalidArgument, "{}.code {} is unknown", field,
                      static_cast<int>(error.code()));
  }
  out.code = *code;
  return take(out.message, field, error.message(), limits::kRpcErrorTextBytesMax);
}

Result<void> take(std::vector<core::Digest>& out, std::string_view field,
                  const google::protobuf::RepeatedPtrField<std::string>& digests) {
  COMMENSAL_TRY(
      check_count(field, static_cast<std::size_t>(digests.size()), limits::kListItemsMax));
  for (const std::string& digest : digests) COMMENSAL_TRY(take(out.emplace_back(), field, digest));
  return {};
}

Result<void> take(tensor::NamedTensors& out, std::string_view field,
                  google::protobuf::RepeatedPtrField<wire::Tensor>& tensors) {
  COMMENSAL_TRY(
      check_count(field, static_cast<std::size_t>(tensors.size()), limits::kInferTensorsMax));
  for (wire::Tensor& from : tensors) {
    tensor::NamedTensor& to = out.emplace_back();
    COMMENSAL_TRY(take(to.name, field, from.name(), limits::kTextBytesMax));
    auto value = tensor_from_wire(from);
    if (!value) return core::in_context(fmt::format("{} '{}'", field, to.name), value.error());
    to.value = *std::move(value);
  }
  return {};
}

Result<void> take(protocol::Amount& out, std::string_view field, const std::string& bytes) {
  std::array<std::uint8_t, 16> units{};  // big-endian
  COMMENSAL_TRY(take(units, field, bytes));
  std::uint64_t words[2] = {};
  for (std::size_t i = 0; i < units.size(); ++i) words[i / 8] = words[i / 8] << 8 | units[i];
  out = protocol::Amount::from_words(words[0], words[1]);
  return {};
}

Result<void> take(ChainPosition& out, std::string_view field, const wire::ChainPosition& from) {
  COMMENSAL_TRY(take(out.head, fmt::format("{}.head", field), from.head()));
  out.round = from.round();
  return take(out.value, fmt::format("{}.value", field), from.value());
}

}  // namespace commensal::rpc::parts
