// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace commensal::kernels::cpu {

/// `count` neighbouring steps of depth: for a row that begins at `a`, floats a[offset + i].
struct DepthRun {
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

/// x * f(x), done to what has been stored.
enum class Gate { kNone, kSigmoid, kHardSigmoid };

/// What is done to a sum before it is stored: `+ bias`, `+ residual`, low <= x <= high, canonical
/// NaN; in this order. What adds +0 or does not bound may be left out.
struct RowFinish {
  const float* bias = nullptr;      // one for each column, readable in whole vectors
  const float* residual = nullptr;  // lies as c does
  bool clamps = false;
  float low = 0, high = 0;  // high is not -0
};

/// A product with a left matrix whose rows lie anywhere at one step, and a right one packed in
/// panels. Every output is one chain of fused multiply-adds, over the runs one after another.
struct RowProduct {
  const float* a = nullptr;  // row r begins at a + r * a_step
  std::int64_t a_step = 0;
  const DepthRun* runs = nullptr;
  int run_count = 0;
  const float* b = nullptr;     // [all steps of the runs][vectors * lanes]
  const float* next = nullptr;  // what b will be in the next call: fetched ahead; null: nothing
  float* c = nullptr;           // row r, vector v: c + r * c_step + c_vectors[v]
  std::int64_t c_step = 0;
  const std::int64_t* c_vectors = nullptr;
  int rows = 0;
  int vectors = 0;      // at most RowKernels::vectors_max
  int last = 0;         // elements of the last vector that are there, at least 1
  bool resume = false;  // the chains go on from c instead of +0
  bool finish = false;  // they end here
  RowFinish how;
};

}  // namespace commensal::kernels::cpu
