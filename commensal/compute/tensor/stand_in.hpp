// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <optional>

namespace commensal::tensor {

/// A tensor that has a type and no elements: for whoever asks for the type only. Reading elements
/// is undefined.
inline Tensor stand_in(const TensorType& type) {
  constexpr const std::uint8_t* kNowhere = nullptr;
  return Tensor::view_of(type, {kNowhere, static_cast<std::size_t>(type.bytes())}, nullptr);
}

/// Tensors whose elements may be read, and are zeros: views of blocks that take no memory.
class ZeroStandIns {
 public:
  explicit ZeroStandIns(std::int64_t bytes_max) : bytes_max_(bytes_max) {}
  /// None if there are more bytes of it, or if it is of strings.
  std::optional<Tensor> of(const TensorType& type);

 private:
  std::int64_t bytes_max_;
  std::shared_ptr<const std::byte> zeros_;
  std::int64_t bytes_ = 0;  // of them
};

}  // namespace commensal::tensor
