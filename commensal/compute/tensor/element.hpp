// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <cstring>

namespace commensal::tensor {

/// The bits of an element, in the low bytes. Precondition: it is there, and no string.
inline std::uint64_t element_bits(const Tensor& tensor, std::int64_t index) {
  const auto size = static_cast<std::size_t>(traits(tensor.dtype()).size);
  const auto bytes = tensor.bytes().subspan(static_cast<std::size_t>(index) * size, size);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), size);
  return bits;
}

}  // namespace commensal::tensor
