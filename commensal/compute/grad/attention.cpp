// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/grad/rules.hpp>
#include <commensal/compute/kernels/shape_inference/attention.hpp>
#include <limits>

namespace commensal::grad::rules {

namespace {

using Attended = kernels::shape_inference::Attention;
using tensor::DType;

/// Heads beside each other in the last axis, as heads of their own: [N, heads, S, width].
Value by_heads(Value x, std::int64_t heads) {
  if (x.rank() == 4) return x;
  return grad::transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

/// True where a key must not be seen: [N or 1, 1, queries, keys]; no maker where all may be.
Value hidden_keys(Maker& maker, const Attended& a) {
  const std::int64_t batch = a.lengths.empty() ? 1 : a.batch;
  const tensor::Shape shape = maker.shape({batch, 1, a.queries, a.keys()});
  if (!maker.has_room_for(shape.elements(), DType::kBool)) return {};
  const auto all = maker.zeros_of({DType::kBool, shape});
  if (!maker.state()) return {};
  auto made = tensor::Tensor::copy_of({DType::kBool, shape}, all.bytes());
  const auto hidden = made.mutable_data<bool>();
  bool is_any = false;
  std::size_t at = 0;
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t query = 0; query < a.queries; ++query) {
      for (std::int64_t key = 0; key < a.keys(); ++key, ++at) {
        hidden[at] = a.excluded(n, query, key);
        is_any = is_any || hidden[at];
      }
    }
  }
  return is_any ? maker.constant(std::move(made)) : Value();
}

/// The keys that it lacks are hidden anyway.
Value with_all_keys(Value mask, const Attended& a) {
  if (a.mask_keys == a.keys()) return mask;
  Dims room = mask.dims();
  room.back() = a.keys() - a.mask_keys;
  Maker& maker = *mask.maker;
  const tensor::TensorType type{DType::kFloat32, maker.shape(room)};
  if (mask.type().dtype == DType::kBool)
    return grad::concat({mask, grad::cast(filled(maker, 1, type), DType::kBool)}, -1);
  return grad::concat({mask, filled(maker, 0, {mask.type().dtype, type.shape})}, -1);
}

}  // namespace

/// Spelled out as docs/numerics.md has it, in binary32.
void attention(Step& step) {
  const auto a = step.read_call(
      [](const kernels::Call& c) { return kernels::shape_inference::attention_of(c); });
  if (!step.maker().state()) return;
  if (step.has(Attended::kSeqLen) &&
      step.maker().constant(step.node().inputs[Attended::kSeqLen]) == nullptr)
    return step.refuse("its nonpad_kv_seqlen is not known before it runs");
  step.through([&](const std::vector<Value>& xs) -> std::vector<Value> {
    Maker& maker = step.maker();
    const auto wide = [](Value x) { return grad::cast(x, DType::kFloat32); };
    const auto joined = [&](std::size_t past, std::size_t fresh) {
      const Value now = by_heads(xs[fresh], a.kv_heads);
      const bool has_past = past < xs.size() && xs[past].maker != nullptr;
      return has_past ? grad::concat({xs[past], now}, 2) : now;
    };
    const auto all_heads = [&](Value x) {  // head h reads kv head h modulo their number
      if (a.heads == a.kv_heads) return wide(x);
      const auto times = static_cast<std::size_t>(a.heads / a.kv_heads);
      return grad::concat(std::vector<Value>(times, wide(x)), 1);
    };
    const Value keys = joined(Attended::kPastKey, Attended::kK);
    const Value values = joined(Attended::kPastValue, Attended::kV);
    const Value q = wide(by_heads(xs[Attended::kQ], a.heads));
    std::vector<Value> stages = {maker.add("MatMul", {q, transpose_last(all_heads(keys))}) *
                                 static_cast<double>(a.scale)};
    Value masked = stages[0];
    const double least = -std::numeric_limits<double>::infinity();
    if (Attended::kMask < xs.size() && xs[Attended::kMask].maker != nullptr) {
      const Value mask = with_all_keys(xs[Attended::kMask], a);
      masked =
          mask.type().dtype == DType::kBool ? select(mask, masked, least) : masked + wide(mask);
    }
    const Value hidden = hidden_keys(maker, a);
    if (hidden.maker != nullptr)
      masked = select(hidden, maker.number(least, DType::kFloat32), masked);
    stages.push_back(masked);
    const double cap = static_cast<double>(a.softcap);
    stages.push_back(cap > 0 ? apply("Tanh", masked / cap) * cap : masked);
    stages.push_back(
        maker.add("Softmax", {stages[2]}, attributes_of({{"axis", std::int64_t{-1}}})));
    Value y = maker.add("MatMul", {stages[3], all_heads(values)});
    if (a.flat_q) y = reshape(grad::transpose(y, {0, 2, 1, 3}), step.y().dims());
    return {grad::cast(y, a.dtype), keys, values,
            grad::cast(stages[static_cast<std::size_t>(a.shown)], a.dtype)};
  });
}

}  // namespace commensal::grad::rules
