// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace commensal::kernels {

/// What a kernel lists before it works, as many as `count`, each T{} at first: where they are few,
/// nothing is allocated.
template <class T, std::int64_t kFew = 64>
class Few {
 public:
  explicit Few(std::int64_t count) : count_(count) {
    if (count <= kFew) {
      std::fill_n(few_, count, T{});
    } else {
      many_.resize(static_cast<std::size_t>(count));
    }
  }
  Few(const Few&) = delete;  // others point to what it has
  Few& operator=(const Few&) = delete;

  T* data() { return many_.empty() ? few_ : many_.data(); }
  const T* data() const { return many_.empty() ? few_ : many_.data(); }
  T& operator[](std::int64_t i) { return data()[i]; }
  std::int64_t size() const { return count_; }
  std::span<T> all() { return {data(), static_cast<std::size_t>(count_)}; }
  std::span<const T> all() const { return {data(), static_cast<std::size_t>(count_)}; }

 private:
  T few_[kFew];
  std::vector<T> many_;
  std::int64_t count_;
};

}  // namespace commensal::kernels
