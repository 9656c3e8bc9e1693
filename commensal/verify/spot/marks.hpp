// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace commensal::spot {

/// Which elements of a tensor are wanted: a bit each, since cones meet and ask for most of them
/// many times over. Thread-safety: one thread.
class Marks {
 public:
  /// Precondition: 0 <= index < elements, the same `elements` each time.
  void add(std::int64_t index, std::int64_t elements) {
    if (words_.empty()) words_.resize(static_cast<std::size_t>(elements / kBits + 1));
    std::uint64_t& word = words_[static_cast<std::size_t>(index / kBits)];
    const std::uint64_t bit = std::uint64_t{1} << index % kBits;
    count_ += (word & bit) == 0 ? 1 : 0;
    word |= bit;
  }
  bool has(std::int64_t index) const {
    const auto word = static_cast<std::size_t>(index / kBits);
    return word < words_.size() && (words_[word] >> index % kBits & 1) != 0;
  }
  std::int64_t count() const { return count_; }
  /// Calls f(index), ascending.
  template <class F>
  void each(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1) {
        f(static_cast<std::int64_t>(w) * kBits + std::countr_zero(left));
      }
    }
  }

 private:
  static constexpr std::int64_t kBits = 64;
  std::vector<std::uint64_t> words_;
  std::int64_t count_ = 0;
};

}  // namespace commensal::spot
