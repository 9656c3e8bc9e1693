// SPDX-License-Identifier: Apache-2.0
// Attention as ONNX has it. What it does to scores is done where they lie; of the scores of zero
// the sign is not the judge's, which Softmax does not see: who asks for scores is sent to the
// judge.
#include <algorithm>
#include <commensal/compute/kernels/cpu/lanes.hpp>
#include <commensal/compute/kernels/cpu/scratch.hpp>
#include <commensal/compute/kernels/cpu/transformer/attention_heads.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/ops.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/shape_inference/attention.hpp>
#include <cstring>
#include <limits>

namespace commensal::kernels::cpu {

namespace {

using tensor::DType;
using Attended = shape_inference::Attention;

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

/// Keys or values of all heads of the key, one row after another.
struct Cache {
  const float* data = nullptr;
  std::int64_t batch_step = 0, head_step = 0, step = 0;
  std::shared_ptr<float> made = nullptr;
};

/// As they lie in the input; where there are others before them, or they are an output too, as that
/// has them.
core::Result<Cache> cache_of(const Call& call, const Attended& a, bool value,
                             std::span<Tensor> outputs, Workspace& ws) {
  const std::int64_t each = value ? a.v_width : a.width, heads = a.kv_heads;
  const std::size_t output = value ? 2 : 1;
  const float* const fresh = call.in(value ? Attended::kV : Attended::kK).data<float>().data();
  if (a.past == 0 && outputs.size() <= output) {
    if (a.flat_kv) return Cache{fresh, a.fresh * heads * each, each, heads * each};
    return Cache{fresh, heads * a.fresh * each, a.fresh * each, each};
  }
  const std::int64_t all = a.keys() * each;
  Cache made{nullptr, heads * all, all, each};
  float* to = nullptr;
  if (outputs.size() > output) {
    to = outputs[output].mutable_data<float>().data();
  } else {
    COMMENSAL_ASSIGN(made.made,
                     floats_from(ws.arena, std::max<std::int64_t>(a.batch * heads * all, 1)));
    to = made.made.get();
  }
  made.data = to;
  if (all == 0) return made;
  ws.threads.run(a.batch * heads, [&](std::int64_t i) {
    Pulse pulse(&ws.threads);
    for (std::int64_t key = 0; key < a.keys();) {
      const ElementRef from = a.kv_at(value, i / heads, i % heads, key);
      // Of a flat input keys lie apart.
      const std::int64_t rows = key < a.past ? a.past - key : a.flat_kv ? 1 : a.keys() - key;
      copy(pulse, reinterpret_cast<std::uint8_t*>(to + i * all + key * each),
           reinterpret_cast<const std::uint8_t*>(call.in(from.input).data<float>().data() +
                                                 from.index),
           static_cast<std::size_t>(rows * each) * sizeof(float));
      key += rows;
    }
  });
  return made;
}

/// What the mask adds to scores.
struct Mask {
  const float* data = nullptr;
  std::shared_ptr<float> made = nullptr;
};
core::Result<Mask> mask_of(const Call& call, Workspace& ws) {
  if (!call.has(Attended::kMask)) return Mask{};
  const Tensor& mask = call.in(Attended::kMask);
  if (mask.dtype() == DType::kFloat32) return Mask{mask.data<float>().data()};
  COMMENSAL_ASSIGN(auto made, floats_from(ws.arena, std::max<std::int64_t>(mask.elements(), 1)));
  Pulse pulse(&ws.threads);
  ref::visit(ref::Everything{}, mask.dtype(), [&]<class T>() {
    float* to = made.get();
    for (const T x : mask.data<T>()) {
      pulse();
      if constexpr (std::is_same_v<T, bool>) {
        *to++ = x ? 0.0f : kExcluded;
      } else {
        *to++ = static_cast<float>(ref::load(x));
      }
    }
  });
  return Mask{made.get(), made};
}

class Scores {
 public:
  Scores(const Attended& a, Mask mask, Isa isa)
      : a_(a), mask_(std::move(mask)), kernels_(kernels_for(isa)) {}

  /// From the product to what Softmax is taken of.
  void finish(std::int64_t head, std::int64_t query, float* scores) const {
    const std::int64_t n = head / a_.heads, keys = a_.keys();
    binary(Binary::kMul, scores, &a_.scale, 0, keys);
    if (mask_.data != nullptr) {
      binary(Binary::kAdd, scores, mask_.data + a_.mask_at(n, head % a_.heads, query, 0),
             static_cast<int>(a_.mask_strides[3]), std::min(keys, a_.mask_keys));
    }
    std::int64_t seen = std::min(keys, a_.mask_keys);
    if (a_.causal) seen = std::min(seen, query + 1);
    if (!a_.lengths.empty()) seen = std::min(seen, a_.lengths[static_cast<std::size_t>(n)]);
    std::fill(scores + seen, scores + keys, kExcluded);
    if (!(a_.softcap > 0)) return;
    binary(Binary::kDiv, scores, &a_.softcap, 0, keys);
    kernels_.unary[static_cast<std::size_t>(Unary::kTanh)](scores, scores, keys, {});
    binary(Binary::kMul, scores, &a_.softcap, 0, keys);
  }

 private:
  void binary(Binary what, float* x, const float* other, int step, std::int64_t count) const {
    kernels_.binary[static_cast<std::size_t>(what)](x, 1, other, step, x, count);
  }
  const Attended& a_;
  Mask mask_;
  const CpuKernels& kernels_;
};

}  // namespace

core::Result<void> onnx_attention(const Call& call, std::span<Tensor> outputs, Workspace& ws) {
  COMMENSAL_ASSIGN(const auto made,
                   call.memo.of([&] { return shape_inference::attention_of(call); }));
  const Attended& a = *made;
  const bool serves =
      a.dtype == DType::kFloat32 && a.value_dtype == DType::kFloat32 && outputs.size() <= 3;
  if (!serves) return ref::kAttention.best()(call, outputs, ws);
  COMMENSAL_ASSIGN(const Cache k, cache_of(call, a, false, outputs, ws));
  COMMENSAL_ASSIGN(const Cache v, cache_of(call, a, true, outputs, ws));
  if (outputs[0].elements() == 0) return {};
  COMMENSAL_ASSIGN(auto mask, mask_of(call, ws));
  const Scores scores(a, std::move(mask), ws.isa);
  const float* const q = call.in(Attended::kQ).data<float>().data();
  float* const y = outputs[0].mutable_data<float>().data();
  const std::int64_t apart = a.flat_q ? a.heads : 1;  // rows from query to query
  AttentionHeads heads{a.batch * a.heads, a.queries, a.keys(), a.width, a.v_width};
  const auto head_of = [&](std::int64_t i) {
    const std::int64_t n = i / a.heads, h = i % a.heads, from = a.q_at(n, h, 0) / a.width;
    const auto of_head = [&](const Cache& cache) {
      return cache.data + n * cache.batch_step + a.kv_head(h) * cache.head_step;
    };
    return AttentionHeads::Head{{q + from * a.width, apart * a.width, 1},
                                {of_head(k), k.step, 1},
                                {of_head(v), 1, v.step},
                                y + from * a.v_width,
                                apart * a.v_width};
  };
  const auto finish = [&](std::int64_t head, std::int64_t query, float* row) {
    scores.finish(head, query, row);
  };
  heads.head = std::cref(head_of), heads.finish = std::cref(finish);  // nothing is allocated
  return heads.run(ws);
}

}  // namespace commensal::kernels::cpu
