// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <cstring>

namespace commensal::kernels::cpu {

/// A constant of binary32, read where it lies, be that in memory or, unaligned, in a file: packing
/// needs no copy of it. The tensor must outlive the object.
class Constant {
 public:
  explicit Constant(const tensor::Tensor& tensor)
      : tensor_(tensor), from_(static_cast<const std::uint8_t*>(tensor.place())) {
    core::check(tensor.dtype() == tensor::DType::kFloat32, "a tensor is read as what it is");
  }

  /// Elements [first, first + count).
  void copy(std::int64_t first, std::int64_t count, float* to) const {
    std::memcpy(to, from_ + static_cast<std::size_t>(first) * sizeof(float),
                static_cast<std::size_t>(count) * sizeof(float));
  }

  bool all_finite() const {
    constexpr std::uint32_t kExponent = 0x7f800000;
    bool finite = true;
    for (std::int64_t i = 0; i < tensor_.elements(); ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, from_ + static_cast<std::size_t>(i) * sizeof(bits), sizeof(bits));
      finite &= (bits & kExponent) != kExponent;
    }
    return finite;
  }

  /// What was read will not be read again soon.
  void forget() const { tensor_.forget_pages(); }

 private:
  const tensor::Tensor& tensor_;
  const std::uint8_t* from_;
};

}  // namespace commensal::kernels::cpu
