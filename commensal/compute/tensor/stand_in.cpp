// SPDX-License-Identifier: Apache-2.0
#include <commensal/base/core/pages.hpp>
#include <commensal/compute/tensor/stand_in.hpp>

namespace commensal::tensor {

ZeroStandIns::ZeroStandIns(std::int64_t bytes_max)
    : zeros_(core::zero_pages(static_cast<std::size_t>(bytes_max))), bytes_max_(bytes_max) {}

std::optional<Tensor> ZeroStandIns::of(const TensorType& type) const {
  const bool fits = type.dtype != DType::kString && type.bytes() <= bytes_max_;
  if (!fits || zeros_ == nullptr) return std::nullopt;
  const auto* data = reinterpret_cast<const std::uint8_t*>(zeros_.get());
  return Tensor::view_of(type, {data, static_cast<std::size_t>(type.bytes())}, zeros_);
}

}  // namespace commensal::tensor
