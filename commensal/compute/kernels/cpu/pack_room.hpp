// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>

namespace commensal::kernels::cpu {

/// Where weights lie in the form that a kernel likes best: constant ones in memory of their own,
/// those of one call in its arena, which bounds what a model takes.
class PackRoom {
 public:
  PackRoom() = default;
  explicit PackRoom(tensor::Arena& arena) : arena_(&arena) {}

  /// Aligned to a cache line, contents unspecified. Error: kResourceExhausted, of an arena.
  core::Result<std::shared_ptr<float>> floats(std::int64_t count) const {
    count = std::max<std::int64_t>(count, 1);
    if (arena_ != nullptr) return floats_from(*arena_, count);
    const auto own = std::make_shared<AlignedFloats>(count);
    return std::shared_ptr<float>(own, own->data());
  }

 private:
  tensor::Arena* arena_ = nullptr;  // null: none
};

}  // namespace commensal::kernels::cpu
