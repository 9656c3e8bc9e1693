// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/limits.hpp>
#include <commensal/base/core/limits_operators.hpp>
#include <commensal/compute/tensor/elements.hpp>

namespace commensal::tensor {
namespace {

using core::ErrorCode;
using core::Result;

constexpr std::size_t kLengthBytes = 4;

std::size_t length_at(core::ByteView bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::size_t{bytes[i]} << (8 * i);
  return length;
}

template <class Bytes>
void append_strings(Bytes& out, const Tensor& tensor) {
  for (const std::string_view text : tensor.strings()) {
    core::check(text.size() <= UINT32_MAX, "a string's length has 32 bits");
    for (std::size_t i = 0; i < kLengthBytes; ++i)
      out.push_back(static_cast<typename Bytes::value_type>((text.size() >> (8 * i)) & 0xff));
    out.insert(out.end(), text.begin(), text.end());
  }
}

tl::unexpected<core::Error> wrong_count(const TensorType& type, std::string_view count) {
  return core::fail(ErrorCode::kInvalidArgument, "{} strings, expected {} for {}", count,
                    type.shape.elements(), type.text());
}

/// Where each string lies in `bytes`.
Result<std::vector<std::string_view>> strings_in(const TensorType& type, core::ByteView bytes) {
  if (type.shape.elements() > limits::kStringsMadeMax) {
    return core::fail(ErrorCode::kInvalidArgument, "{} strings, at most {} are read",
                      type.shape.elements(), limits::kStringsMadeMax);
  }
  const auto count = static_cast<std::size_t>(type.shape.elements());
  std::vector<std::string_view> strings;
  strings.reserve(std::min(count, bytes.size() / kLengthBytes));
  while (!bytes.empty()) {
    if (strings.size() == count) return wrong_count(type, "more");
    const bool has_length = bytes.size() >= kLengthBytes;
    if (!has_length || length_at(bytes) > bytes.size() - kLengthBytes) {
      return core::fail(ErrorCode::kInvalidArgument,
                        "string {} is cut off: expected its length in {} bytes, little-endian, "
                        "then its bytes",
                        strings.size(), kLengthBytes);
    }
    const std::size_t length = length_at(bytes);
    strings.push_back(core::as_text(bytes.subspan(kLengthBytes, length)));
    bytes = bytes.subspan(kLengthBytes + length);
  }
  if (strings.size() != count) return wrong_count(type, std::to_string(strings.size()));
  return strings;
}

Result<void> check_numbers(const TensorType& type, core::ByteView bytes) {
  if (static_cast<std::int64_t>(bytes.size()) == type.bytes())
    return check_elements(type.dtype, bytes);
  return core::fail(ErrorCode::kInvalidArgument, "{} bytes, expected {} for {}", bytes.size(),
                    type.bytes(), type.text());
}

}  // namespace

std::int64_t encoded_bytes(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor.type().bytes();
  std::int64_t bytes = 0;
  for (const std::string_view text : tensor.strings()) bytes += kLengthBytes + text.size();
  return bytes;
}

Tensor encoded(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) return tensor;
  const auto bytes = std::make_shared<core::Bytes>();
  bytes->reserve(static_cast<std::size_t>(encoded_bytes(tensor)));
  append_strings(*bytes, tensor);
  return Tensor::view_of({DType::kUint8, Shape{std::ssize(*bytes)}}, *bytes, bytes);
}

void append_encoded(std::string& out, const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return append_strings(out, tensor);
  out += core::as_text(tensor.bytes());
}

Result<Tensor> decoded(const TensorType& type, core::ByteView bytes,
                       std::shared_ptr<const void> owner) {
  if (type.dtype == DType::kString) {
    COMMENSAL_ASSIGN(auto strings, strings_in(type, bytes));
    return Tensor::of_string_views(type.shape, std::move(strings), {std::move(owner)});
  }
  COMMENSAL_TRY(check_numbers(type, bytes));
  const auto size = static_cast<std::uintptr_t>(std::max<std::int64_t>(traits(type.dtype).size, 1));
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0)
    return Tensor::copy_of(type, bytes);
  return Tensor::view_of(type, bytes, std::move(owner));
}

Result<Tensor> decoded_copy(const TensorType& type, core::ByteView bytes) {
  if (type.dtype == DType::kString) {
    const auto copy = std::make_shared<const core::Bytes>(bytes.begin(), bytes.end());
    return decoded(type, *copy, copy);
  }
  COMMENSAL_TRY(check_numbers(type, bytes));
  return Tensor::copy_of(type, bytes);
}

std::int64_t held_bytes(const Tensor& tensor) {
  constexpr std::int64_t kPlaceBytes = sizeof(std::string_view);
  const std::int64_t places = tensor.dtype() == DType::kString ? tensor.elements() : 0;
  return encoded_bytes(tensor) + kPlaceBytes * places;
}

}  // namespace commensal::tensor
