// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace commensal::kernels::cpu {

/// Floats that begin at a cache line, so that vectors of them do not straddle two; +0 at first.
class AlignedFloats {
 public:
  explicit AlignedFloats(std::int64_t count)
      : data_(new (std::align_val_t{kAlignment}) float[static_cast<std::size_t>(count)]()) {}

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Delete {
    void operator()(float* data) const { ::operator delete[](data, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<float[], Delete> data_;
};

}  // namespace commensal::kernels::cpu
