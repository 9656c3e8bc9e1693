// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/base/core/pages.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::tensor {

std::optional<Tensor> ZeroStandIns::of(const TensorType& type) {
  constexpr std::int64_t kFirst = 1 << 20;
  const std::int64_t bytes = type.bytes();
  if (type.dtype == DType::kString || bytes > bytes_max_) return std::nullopt;
  if (bytes > bytes_ || zeros_ == nullptr) {
    bytes_ = std::max({kFirst, bytes, std::min(2 * bytes_, bytes_max_)});
    zeros_ = core::zero_pages(static_cast<std::size_t>(bytes_));
  }
  if (zeros_ == nullptr) return std::nullopt;
  const auto* data = reinterpret_cast<const std::uint8_t*>(zeros_.get());
  return Tensor::view_of(type, {data, static_cast<std::size_t>(bytes)}, zeros_);
}

}  // namespace commensal::tensor
