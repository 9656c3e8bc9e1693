// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <commensal/compute/kernels/operator.hpp>
#include <vector>

namespace commensal::kernels::cpu {

/// Where matrices lie in a tensor: entry (i, j) of matrix (b, h) at
/// from + b * steps[0] + h * steps[1] + i * steps[2] + j * steps[3].
struct HeadsView {
  std::int64_t from = 0;
  std::array<std::int64_t, 4> steps{};

  std::int64_t matrix(std::int64_t b, std::int64_t h) const {
    return from + b * steps[0] + h * steps[1];
  }
};

/// One operator between the two products, rounded by itself: x * number, x / number or x + an
/// input.
struct ScoreStep {
  char kind = '*';  // or '/', '+'
  float number = 0;
  HeadsView bias = {};
};

/// softmax(steps(q_steps(q) k^T)) v for batch x heads matrices. Inputs: q [queries, depth],
/// k [keys, depth], v [keys, columns], then one for each '+'; all binary32 and each in a view.
struct AttentionCall {
  std::int64_t batch = 0, heads = 0, queries = 0, keys = 0, depth = 0, columns = 0;
  HeadsView q = {}, k = {}, v = {}, y = {};
  std::vector<ScoreStep> q_steps = {};  // no '+'
  std::vector<ScoreStep> steps = {};
  tensor::Shape shape = {};  // of the output

  /// As the attributes of a node say, which `attributes` made.
  /// Error: kInvalidArgument, also where a view leaves its tensor.
  static core::Result<AttentionCall> of(const Call& call);
  Attributes attributes() const;
};

}  // namespace commensal::kernels::cpu
