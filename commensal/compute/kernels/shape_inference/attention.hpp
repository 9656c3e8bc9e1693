// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <vector>

namespace commensal::kernels::shape_inference {

/// An Attention call, checked. Q is [N, heads, queries, width] or [N, queries, heads * width]; K
/// and V likewise with kv_heads, `fresh` keys and v_width. The keys of the cache come first.
struct Attention {
  enum Input { kQ, kK, kV, kMask, kPastKey, kPastValue, kSeqLen };

  tensor::DType dtype = tensor::DType::kUndefined;        // of Q, K, Y and the fourth output
  tensor::DType value_dtype = tensor::DType::kUndefined;  // of V
  std::int64_t batch = 0, heads = 0, kv_heads = 0;
  std::int64_t queries = 0, past = 0, fresh = 0, width = 0, v_width = 0;
  bool flat_q = false, flat_kv = false;  // of rank 3
  bool causal = false;
  float scale = 1, softcap = 0;
  int shown = 0;                      // qk_matmul_output_mode
  std::vector<std::int64_t> lengths;  // keys that are no padding, by batch entry; empty: all
  Dims mask_strides{};                // over [N, heads, queries, keys]
  std::int64_t mask_keys = 0;         // the keys beyond them are excluded
  std::vector<TensorType> types;      // of the outputs

  std::int64_t keys() const { return past + fresh; }
  std::int64_t kv_head(std::int64_t head) const { return head % kv_heads; }
  std::int64_t q_at(std::int64_t n, std::int64_t head, std::int64_t query) const;
  /// Where key (or value) `key` begins: in the cache, or from `past` on in K (or V).
  ElementRef kv_at(bool value, std::int64_t n, std::int64_t kv_head, std::int64_t key) const;
  /// A key that the query must not see, whatever the mask's numbers are.
  bool excluded(std::int64_t n, std::int64_t query, std::int64_t key) const;
  std::int64_t mask_at(std::int64_t n, std::int64_t head, std::int64_t query,
                       std::int64_t key) const;
};

/// Errors: kInvalidArgument or kUnsupported, one line.
core::Result<Attention> attention_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
