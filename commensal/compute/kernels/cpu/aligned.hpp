// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/pages.hpp>
#include <cstdint>
#include <memory>
#include <new>

namespace commensal::kernels::cpu {

/// Floats that begin at a cache line, so that vectors of them do not straddle two; +0 at first.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count) {
    const auto floats = static_cast<std::size_t>(count);
    if (floats * sizeof(float) >= core::kPagesBytesMin) {
      pages_ = core::allocate_pages(floats * sizeof(float));
      if (pages_ == nullptr) throw std::bad_alloc();  // as the other branch
      data_ = reinterpret_cast<float*>(pages_.get());
    } else {
      heap_.reset(new (std::align_val_t{kAlignment}) float[floats]());
      data_ = heap_.get();
    }
  }

  float* data() { return data_; }
  const float* data() const { return data_; }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Delete {
    void operator()(float* data) const { ::operator delete[](data, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float[], Delete> heap_;
  core::Pages pages_;  // of many
  float* data_ = nullptr;
};

}  // namespace commensal::kernels::cpu
