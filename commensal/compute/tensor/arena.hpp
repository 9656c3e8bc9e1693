// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/result.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace commensal::tensor {

/// Memory for tensors, bounded and recycled: a released block is kept and given to the next
/// request of its size class, so that a graph that runs again allocates nothing.
/// Blocks are aligned to kAlignment bytes; their contents are unspecified.
/// Thread-safety: any thread. A block may outlive the Arena object (it shares its state).
class Arena {
 public:
  static constexpr std::size_t kAlignment = 64;

  explicit Arena(std::int64_t bytes_max);

  /// Error: kResourceExhausted, naming the limit.
  core::Result<std::shared_ptr<std::byte>> allocate(std::int64_t bytes);

  std::int64_t bytes_in_use() const;
  std::int64_t bytes_peak() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace commensal::tensor
