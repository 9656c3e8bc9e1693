// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/pack_across.hpp>
#include <functional>

namespace commensal::kernels::cpu {

/// softmax(finish(prepare(q) k^T)) v for some heads of one size, with the bits of the operators one
/// by one: a block of rows of scores goes from the first product through Softmax into the second
/// one while it is in the first cache.
struct AttentionHeads {
  struct Head {
    MatrixView q, k;  // entries by depth
    MatrixView v;     // columns by keys
    float* y = nullptr;
    std::int64_t y_step = 0;  // from query to query; columns lie side by side
  };

  std::int64_t heads = 0, queries = 0, keys = 0, depth = 0, columns = 0;
  std::function<Head(std::int64_t head)> head = {};
  /// What is done to each element of q.
  std::function<void(float* q, std::int64_t count)> prepare = {};
  /// What is done to the scores of one query before Softmax; any thread.
  std::function<void(std::int64_t head, std::int64_t query, float* scores)> finish = {};

  /// Error: kResourceExhausted.
  core::Result<void> run(Workspace& ws) const;
};

}  // namespace commensal::kernels::cpu
