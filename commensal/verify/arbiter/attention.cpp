// SPDX-License-Identifier: Apache-2.0
// Attention (docs/numerics.md): the products of a query with all keys, their Softmax, and the sum
// of the values that it weighs.
#include <algorithm>
#include <commensal/verify/arbiter/operators.hpp>
#include <commensal/verify/scalar/soft.hpp>

namespace commensal::arbiter {
namespace {

using scalar::Op;
using S = scalar::Soft32;

enum Input : std::size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kSeqLen };
enum Output : std::size_t { kY, kPresentKey, kPresentValue, kShown };
enum Stage : std::int64_t { kProduct, kMasked, kCapped, kSoftmax };

// One of Q, K, V as [N, heads, length, width].
struct Heads {
  std::int64_t batch = 0, heads = 0, length = 0, width = 0;
  bool flat = false;  // stored as [N, length, heads * width]
  std::int64_t at(std::int64_t n, std::int64_t head, std::int64_t i) const {
    return (flat ? (n * length + i) * heads + head : (n * heads + head) * length + i) * width;
  }
};
std::optional<Heads> heads_of(const NodeCall& call, std::size_t input, std::string_view attribute) {
  if (!call.has(input) || !is_binary32(call.inputs[input])) return std::nullopt;
  const Dims x = dims_of(call.inputs[input]);
  if (x.size() == 4) return Heads{x[0], x[1], x[2], x[3], false};
  const std::int64_t heads = call.node.integer(attribute, 0);
  if (x.size() != 3 || heads < 1 || x[2] % heads != 0) return std::nullopt;
  return Heads{x[0], heads, x[1], x[2] / heads, true};
}

struct Attention {
  Heads q, k, v;
  std::int64_t past = 0, mask_keys = 0, shown = 0;
  Dims mask;  // broadcast to [N, heads, queries, keys]; of the keys it may lack some
  std::optional<std::vector<std::int64_t>> lengths;
  bool causal = false;
  std::uint32_t scale = 0, softcap = 0;

  std::int64_t keys() const { return past + k.length; }
  // Where a key (or value) begins: in the cache, or from `past` on in K (or V).
  Operand element(bool value, std::int64_t n, std::int64_t head, std::int64_t key,
                  std::int64_t column) const {
    const Heads& fresh = value ? v : k;
    if (key >= past) {
      return element_of(value ? kV : kK, fresh.at(n, head, key - past) + column);
    }
    const std::int64_t row = (n * fresh.heads + head) * past + key;
    return element_of(value ? kPastValue : kPastKey, row * fresh.width + column);
  }
  bool excluded(std::int64_t n, std::int64_t query, std::int64_t key) const {
    if ((causal && key > query) || key >= mask_keys) return true;
    return lengths && key >= (*lengths)[static_cast<std::size_t>(n)];
  }
  std::int64_t mask_at(std::int64_t n, std::int64_t head, std::int64_t query,
                       std::int64_t key) const {
    const Dims at = {n, head, query, std::min(key, mask_keys - 1)};
    std::int64_t place = 0;
    for (std::size_t d = 0; d < mask.size(); ++d) {
      place = place * mask[d] + (mask[d] == 1 ? 0 : at[4 - mask.size() + d]);
    }
    return place;
  }
};

bool set_past(Attention& a, const NodeCall& call) {
  if (call.has(kPastKey) != call.has(kPastValue)) return false;
  if (!call.has(kPastKey)) return true;
  const Dims k = dims_of(call.inputs[kPastKey]);
  a.past = k.size() == 4 ? k[2] : 0;
  return call.inputs[kPastKey] ==
             shaped(call.inputs[kK].dtype, {a.k.batch, a.k.heads, a.past, a.k.width}) &&
         call.inputs[kPastValue] ==
             shaped(call.inputs[kV].dtype, {a.v.batch, a.v.heads, a.past, a.v.width});
}
bool set_mask(Attention& a, const NodeCall& call) {
  a.mask_keys = a.keys();
  if (!call.has(kMask)) return true;
  const Shaped& type = call.inputs[kMask];
  a.mask = dims_of(type);
  if (!(is_binary32(type) || type.is(Element::kBool)) || a.mask.size() > 4) return false;
  const Dims whole = {a.q.batch, a.q.heads, a.q.length, a.keys()};
  const bool padded = call.node.opset >= 24 && !a.mask.empty() && a.mask.back() < a.keys();
  if (padded) a.mask_keys = a.mask.back();
  for (std::size_t d = 0; d < a.mask.size(); ++d) {
    const std::size_t at = 4 - a.mask.size() + d;
    if (!(padded && at == 3) && a.mask[d] != 1 && a.mask[d] != whole[at]) return false;
  }
  return a.mask_keys > 0 || a.keys() == 0;
}
bool set_lengths(Attention& a, const NodeCall& call) {
  if (!call.has(kSeqLen)) return true;
  const Shaped expected = shaped(static_cast<std::uint8_t>(Element::kInt64), {a.q.batch});
  a.lengths = call.lists[kSeqLen];
  return call.inputs[kSeqLen] == expected && a.lengths && a.past == 0;
}

std::optional<Attention> attention_of(const NodeCall& call) {
  Attention a;
  const auto q = heads_of(call, kQ, "q_num_heads"), k = heads_of(call, kK, "kv_num_heads"),
             v = heads_of(call, kV, "kv_num_heads");
  if (!q || !k || !v || call.inputs[kK].dtype != call.inputs[kQ].dtype) return std::nullopt;
  const bool fits = q->batch == k->batch && q->batch == v->batch && k->heads == v->heads &&
                    k->length == v->length && q->width == k->width && q->width > 0 &&
                    k->heads > 0 && q->heads % k->heads == 0;
  if (!fits) return std::nullopt;
  a.q = *q;
  a.k = *k;
  a.v = *v;
  a.causal = call.node.integer("is_causal", 0) != 0;
  a.shown = call.node.integer("qk_matmul_output_mode", 0);
  a.softcap = call.node.real("softcap", 0);
  a.scale = call.node.real("scale", S::div(0x3f800000, S::sqrt(S::of_integer(q->width))));
  const bool is_double =
      call.node.integer("softmax_precision", 1) == static_cast<int>(Element::kFloat64);
  if (is_double || a.shown < kProduct || a.shown > kSoftmax) return std::nullopt;
  if (!set_past(a, call) || !set_mask(a, call) || !set_lengths(a, call)) return std::nullopt;
  return a;
}

TypeResult attention_type(const NodeCall& call, std::size_t output) {
  const auto a = output <= kShown ? attention_of(call) : std::nullopt;
  if (!a || !shaped(call.inputs[kQ].dtype, {a->q.heads, a->v.width}).valid())
    return unsupported("no program for this form or element type");
  const std::uint8_t dtype = call.inputs[kQ].dtype;
  const std::int64_t n = a->q.batch, heads = a->q.heads, queries = a->q.length;
  if (output == kPresentKey) return shaped(dtype, {n, a->k.heads, a->keys(), a->k.width});
  if (output == kPresentValue) {
    return shaped(call.inputs[kV].dtype, {n, a->v.heads, a->keys(), a->v.width});
  }
  if (output == kShown) return shaped(dtype, {n, heads, queries, a->keys()});
  if (a->q.flat) return shaped(dtype, {n, queries, heads * a->v.width});
  return shaped(dtype, {n, heads, queries, a->v.width});
}

// One query of one head.
struct Query {
  const NodeCall& call;
  const Attention& a;
  const Emitter& emit;
  std::int64_t n = 0, head = 0, query = 0;

  std::int64_t kv_head() const { return head % a.k.heads; }
  Operand product(std::int64_t key) const {
    Operand acc[] = {emit.zero()};
    const std::int64_t q = a.q.at(n, head, query);
    emit.steps.fold(a.q.width, acc, [&](std::int64_t i, std::span<Operand> state) {
      state[0] = emit.fma(element_of(kQ, q + i), a.element(false, n, kv_head(), key, i), state[0]);
    });
    return emit.mul(constant(a.scale), acc[0]);
  }
  // As many operations for each key: one that is excluded is only selected away.
  Operand masked(std::int64_t key, Operand s) const {
    Operand mask = emit.zero();
    if (call.has(kMask)) {
      mask = element_of(kMask, a.mask_at(n, head, query, key));
      if (call.inputs[kMask].is(Element::kBool)) {
        mask = emit.select(mask, emit.zero(), constant(emit.lowest));
      }
    }
    const Operand t = emit.add(s, mask);
    const std::uint64_t is_out = a.excluded(n, query, key) ? 1 : 0;
    return emit.select(constant(is_out), constant(emit.lowest), t);
  }
  Operand capped(Operand t) const {
    if (!S::less(0, a.softcap)) return t;
    const Operand part = emit.div(t, constant(a.softcap));
    return emit.mul(constant(a.softcap), emit.put(Op::kTanh32, {part}));
  }
  Operand number(std::int64_t key, std::int64_t stage) const {
    Operand x = product(key);
    if (stage >= kMasked) x = masked(key, x);
    return stage >= kCapped ? capped(x) : x;
  }
  // What each key weighs.
  Turns softmax() const {
    using Made = std::vector<Operand>;
    const Turns u =
        emit.steps.each(a.keys(), [&](std::int64_t key) { return Made{number(key, kCapped)}; });
    Operand largest[] = {constant(emit.lowest)};
    emit.steps.fold(a.keys(), largest, [&](std::int64_t i, std::span<Operand> state) {
      state[0] = emit.maximum(state[0], u.at(i));
    });
    const Turns e = emit.steps.each(a.keys(), [&](std::int64_t i) {
      return Made{emit.put(Op::kExp32, {emit.sub(u.at(i), largest[0])})};
    });
    const Operand sum = lane_sum(emit, a.keys(), [&](std::int64_t i) { return e.at(i); });
    return emit.steps.each(a.keys(), [&](std::int64_t i) { return Made{emit.div(e.at(i), sum)}; });
  }
  void attended(std::int64_t column) const {
    const Turns weights = softmax();
    Operand acc[] = {emit.zero()};
    emit.steps.fold(a.keys(), acc, [&](std::int64_t key, std::span<Operand> state) {
      const Operand weight = weights.at(key);
      state[0] = emit.fma(weight, a.element(true, n, kv_head(), key, column), state[0]);
    });
    emit.add(acc[0], emit.zero());
  }
};

void attention(const NodeCall& call, std::size_t output, std::int64_t element, StepBuilder& steps) {
  const Attention a = *attention_of(call);
  if (output == kPresentKey || output == kPresentValue) {
    const bool value = output == kPresentValue;
    const std::int64_t each = value ? a.v.width : a.k.width, row = element / each;
    const std::int64_t head = row / a.keys() % a.k.heads, n = row / a.keys() / a.k.heads;
    steps.put(Op::kCopy, {a.element(value, n, head, row % a.keys(), element % each)});
    return;
  }
  const Emitter emit = computing(call, output, steps);
  const std::int64_t each = output == kY ? a.v.width : a.keys(), row = element / each;
  const bool flat = output == kY && a.q.flat;
  const std::int64_t head = flat ? row % a.q.heads : row / a.q.length % a.q.heads;
  const std::int64_t query = flat ? row / a.q.heads % a.q.length : row % a.q.length;
  const Query one{call, a, emit, row / a.q.heads / a.q.length, head, query};
  if (output == kY) return one.attended(element % each);
  if (a.shown < kSoftmax) {
    one.number(element % each, a.shown);
  } else {
    emit.put(Op::kCopy, {one.softmax().at(element % each)});
  }
}

}  // namespace

std::span<const OperatorRow> attention_rows() {
  static constexpr OperatorRow kRows[] = {
      {"Attention", 23, 0, "float32, float16, bfloat16", attention_type, attention},
  };
  return kRows;
}

}  // namespace commensal::arbiter
