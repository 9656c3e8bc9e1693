// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/aligned.hpp>
#include <commensal/compute/kernels/pack_store.hpp>
#include <memory>

namespace commensal::kernels::cpu {

/// Floats that are made once and then only read. Many of them are looked for in a store first.
class PackedFloats {
 public:
  /// `fill(float*)` makes them; they are +0 before.
  template <class Fill>
  PackedFloats(std::int64_t count, PackStore* store, const Fill& fill) {
    const bool many = static_cast<std::size_t>(count) * sizeof(float) >= core::kPagesBytesMin;
    if (!many) store = nullptr;
    if (store != nullptr) kept_ = store->find(count);
    if (kept_ != nullptr) return;
    auto made = std::make_shared<AlignedFloats>(count);
    fill(made->data());
    if (store != nullptr) store->keep({made->data(), static_cast<std::size_t>(count)});
    kept_ = std::shared_ptr<const float>(made, made->data());
  }
  explicit PackedFloats(std::shared_ptr<const float> made) : kept_(std::move(made)) {}
  const float* data() const { return kept_.get(); }

 private:
  std::shared_ptr<const float> kept_;
};

}  // namespace commensal::kernels::cpu
