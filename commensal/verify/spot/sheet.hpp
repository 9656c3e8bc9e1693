// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>
#include <cstdlib>
#include <cstring>

namespace commensal::spot {

/// A tensor of which only some elements are known; the others are zero. Pages that nobody writes
/// cost nothing. Thread-safety: one thread.
class Sheet {
 public:
  Sheet() = default;
  /// Error: kResourceExhausted.
  static core::Result<Sheet> of(const tensor::TensorType& type) {
    const auto size = static_cast<std::size_t>(type.bytes());
    Sheet made;
    made.block_.reset(static_cast<std::uint8_t*>(std::calloc(std::max<std::size_t>(size, 1), 1)),
                      std::free);
    if (made.block_ == nullptr) {
      return core::fail(core::ErrorCode::kResourceExhausted, "no memory for {}", type.text());
    }
    made.tensor_ = tensor::Tensor::view_of(type, {made.block_.get(), size}, made.block_);
    return made;
  }

  const tensor::Tensor& tensor() const { return tensor_; }
  std::span<std::uint8_t> bytes() {
    return {block_.get(), static_cast<std::size_t>(tensor_.type().bytes())};
  }
  /// The bits in the low bytes of `bits`.
  void put(std::int64_t index, std::uint64_t bits) {
    const auto size = static_cast<std::size_t>(tensor::traits(tensor_.dtype()).size);
    std::memcpy(block_.get() + static_cast<std::size_t>(index) * size, &bits, size);
  }

 private:
  std::shared_ptr<std::uint8_t> block_;
  tensor::Tensor tensor_;
};

}  // namespace commensal::spot
