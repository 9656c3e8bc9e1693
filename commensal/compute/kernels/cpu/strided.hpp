// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <cstdint>
#include <optional>
#include <vector>

namespace commensal::kernels::cpu {

/// Elements of a tensor in another order: element `at` of `dims` is the input's element
/// from + sum of at[d] * strides[d], and the output's to + sum of at[d] * out_strides[d]; without
/// `out_strides` it is row-major in the output. Strides of the input may be 0 or negative.
struct StridedCopy {
  std::vector<std::int64_t> dims, strides;
  std::int64_t from = 0;
  std::vector<std::int64_t> out_strides = {};
  std::int64_t to = 0;
};

/// Every output dimension is the input's of the same place.
StridedCopy same_places(const tensor::Shape& from, const tensor::Shape& to);

/// How one is best done: long runs as they lie, matrices in blocks. Thread-safety: immutable.
class CopyPlan {
 public:
  explicit CopyPlan(const StridedCopy& copy);
  /// Elements of `size` bytes (1, 2, 4 or 8), on the pool's threads.
  void run(std::int64_t size, const std::uint8_t* from, std::uint8_t* to, Workspace& ws) const;
  void run(const Tensor& from, Tensor& to, Workspace& ws) const;

  /// One dimension of the output: how far apart its places are, in elements.
  struct Axis {
    std::int64_t size = 1, in = 0, out = 0;
  };

 private:
  std::int64_t from_, to_, places_;
  Axis last_;
  std::optional<Axis> along_;  // side by side in the input, where the last is so in the output only
  std::vector<Axis> outer_;    // the others, the last first
};

}  // namespace commensal::kernels::cpu
