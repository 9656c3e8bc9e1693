// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <commensal/compute/kernels/ref/value.hpp>
#include <vector>

namespace commensal::kernels::ref {

/// The inputs of a recurrent layer as binary32. Elements of 16 bits are widened as they are read,
/// so that the judge takes no memory for them. Thread-safety: one thread.
class RecurrentInputs {
 public:
  explicit RecurrentInputs(const Call& call) : call_(call) {}

  bool has(int input) const { return call_.has(input); }
  /// `count` elements from `index` on, until the next ones of the same input are asked for.
  const float* at(int input, std::int64_t index, std::int64_t count) const {
    return visit(Floats32{}, call_.in(input).dtype(), [&]<class T>() -> const float* {
      const T* const from = paced<T>(call_, input).data() + index;
      if constexpr (std::is_same_v<T, float>) {
        return from;
      } else {
        call_.pulse(count);
        std::vector<float>& row = rows_[static_cast<std::size_t>(input)];
        row.resize(static_cast<std::size_t>(count));
        std::transform(from, from + count, row.begin(), [](T one) { return load(one); });
        return row.data();
      }
    });
  }
  float or_zero(int input, std::int64_t index) const {
    return has(input) ? *at(input, index, 1) : 0.0f;
  }

 private:
  const Call& call_;
  mutable std::array<std::vector<float>, 8> rows_;
};

}  // namespace commensal::kernels::ref
