// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/kernels/shape_inference/attention.hpp>
#include <commensal/compute/kernels/shape_inference/checks.hpp>

namespace commensal::kernels::shape_inference {
namespace {

using core::ErrorCode;
using core::fail;
using tensor::DType;
using tensor::Shape;

core::Result<void> read_attributes(const Call& call, Attention& made) {
  const Attributes& given = *call.attributes;
  COMMENSAL_ASSIGN(made.causal, given.integer("is_causal", 0));
  COMMENSAL_ASSIGN(made.softcap, given.real("softcap", 0));
  COMMENSAL_ASSIGN(const std::int64_t shown, given.integer("qk_matmul_output_mode", 0));
  COMMENSAL_ASSIGN(const std::int64_t precision, given.integer("softmax_precision", 1));
  if (shown < 0 || shown > 3) {
    return fail(ErrorCode::kInvalidArgument,
                "attribute 'qk_matmul_output_mode' must be 0 to 3, not {}", shown);
  }
  made.shown = static_cast<int>(shown);
  if (precision == static_cast<int>(DType::kFloat64)) {
    return fail(ErrorCode::kUnsupported, "attribute 'softmax_precision' of float64");
  }
  if (!(made.softcap >= 0)) {
    return fail(ErrorCode::kInvalidArgument, "attribute 'softcap' must not be negative");
  }
  return {};
}

// One of Q, K, V as [N, heads, length, width].
struct Heads {
  std::int64_t batch = 0, heads = 0, length = 0, width = 0;
  bool flat = false;
};
core::Result<Heads> heads_of(const Call& call, int input, std::string_view attribute) {
  const Shape& x = call.in(input).shape();
  if (x.rank() == 4) return Heads{x[0], x[1], x[2], x[3], false};
  COMMENSAL_ASSIGN(const std::int64_t heads, call.attributes->integer(attribute, 0));
  if (x.rank() == 3 && heads >= 1 && x[2] % heads == 0) {
    return Heads{x[0], heads, x[1], x[2] / heads, true};
  }
  return fail(ErrorCode::kInvalidArgument,
              "input {} must be [N, heads, S, D], or [N, S, heads * D] with attribute '{}', not {}",
              input, attribute, x.text());
}

core::Result<void> read_heads(const Call& call, Attention& made) {
  COMMENSAL_ASSIGN(const Heads q, heads_of(call, Attention::kQ, "q_num_heads"));
  COMMENSAL_ASSIGN(const Heads k, heads_of(call, Attention::kK, "kv_num_heads"));
  COMMENSAL_ASSIGN(const Heads v, heads_of(call, Attention::kV, "kv_num_heads"));
  const bool fits = q.batch == k.batch && q.batch == v.batch && k.heads == v.heads &&
                    k.length == v.length && k.flat == v.flat && q.width == k.width && q.width > 0 &&
                    k.heads > 0 && q.heads % k.heads == 0;
  if (!fits) {
    return fail(ErrorCode::kInvalidArgument, "Q {}, K {} and V {} do not fit each other",
                call.in(0).shape().text(), call.in(1).shape().text(), call.in(2).shape().text());
  }
  made.batch = q.batch;
  made.heads = q.heads;
  made.queries = q.length;
  made.width = q.width;
  made.flat_q = q.flat;
  made.kv_heads = k.heads;
  made.fresh = k.length;
  made.v_width = v.width;
  made.flat_kv = k.flat;
  return {};
}

core::Result<void> read_past(const Call& call, Attention& made) {
  const bool key = call.has(Attention::kPastKey), value = call.has(Attention::kPastValue);
  if (key != value) {
    return fail(ErrorCode::kInvalidArgument, "past_key and past_value must both be there");
  }
  if (!key) return {};
  const Shape &k = call.in(Attention::kPastKey).shape(),
              &v = call.in(Attention::kPastValue).shape();
  made.past = k.rank() == 4 ? k[2] : 0;
  const std::array<std::int64_t, 4> key_dims = {made.batch, made.kv_heads, made.past, made.width};
  const std::array<std::int64_t, 4> value_dims = {made.batch, made.kv_heads, made.past,
                                                  made.v_width};
  if (std::ranges::equal(k.dims(), key_dims) && std::ranges::equal(v.dims(), value_dims)) return {};
  return fail(ErrorCode::kInvalidArgument, "past_key {} and past_value {} do not fit K {} and V {}",
              k.text(), v.text(), call.in(1).shape().text(), call.in(2).shape().text());
}

core::Result<void> read_lengths(const Call& call, Attention& made) {
  if (!call.has(Attention::kSeqLen)) return {};
  COMMENSAL_TRY(check_dtype<ref::Types<std::int64_t>>(call, Attention::kSeqLen));
  if (call.in(Attention::kSeqLen).shape() != Shape{made.batch} || made.past > 0) {
    return fail(ErrorCode::kInvalidArgument,
                "nonpad_kv_seqlen must be [{}] and have no past keys beside it, not {}", made.batch,
                call.in(Attention::kSeqLen).shape().text());
  }
  const auto given = call.in(Attention::kSeqLen).data<std::int64_t>();
  for (std::size_t n = 0; n < given.size(); ++n) {
    if (given[n] < 0 || given[n] > made.keys()) {
      return fail(ErrorCode::kInvalidArgument, "nonpad_kv_seqlen has {}, expected 0 to {}",
                  given[n], made.keys());
    }
    made.lengths.push_back(given[n]);
  }
  return {};
}

// Broadcast to [N, heads, queries, keys]; from opset 24 on the keys that it lacks are excluded.
core::Result<void> read_mask(const Call& call, Attention& made) {
  made.mask_keys = made.keys();
  if (!call.has(Attention::kMask)) return {};
  COMMENSAL_TRY(check_dtype<ref::Everything>(call, Attention::kMask));
  const Shape& mask = call.in(Attention::kMask).shape();
  const std::array<std::int64_t, 4> whole = {made.batch, made.heads, made.queries, made.keys()};
  const bool padded = call.opset >= 24 && mask.rank() > 0 && mask[mask.rank() - 1] < made.keys();
  if (padded) made.mask_keys = mask[mask.rank() - 1];
  const auto strides = tensor::strides_of(mask);
  bool fits = mask.rank() <= 4;
  for (int d = 0; d < mask.rank() && fits; ++d) {
    const auto at = static_cast<std::size_t>(4 - mask.rank() + d);
    const bool short_keys = padded && at == 3;
    fits = short_keys || mask[d] == 1 || mask[d] == whole[at];
    const bool repeated = mask[d] == 1 && !short_keys;
    made.mask_strides[at] = repeated ? 0 : strides[static_cast<std::size_t>(d)];
  }
  if (fits) return {};
  return fail(ErrorCode::kInvalidArgument, "attn_mask {} does not broadcast to [{},{},{},{}]",
              mask.text(), whole[0], whole[1], whole[2], whole[3]);
}

core::Result<void> name_types(const Call& call, Attention& made) {
  const auto put = [&](DType dtype,
                       std::initializer_list<std::int64_t> dims) -> core::Result<void> {
    COMMENSAL_ASSIGN(const Shape shape, Shape::of(std::vector<std::int64_t>(dims)));
    made.types.push_back({dtype, shape});
    return {};
  };
  COMMENSAL_TRY(Shape::of(std::array{made.heads, made.v_width}));
  if (made.flat_q) {
    COMMENSAL_TRY(put(made.dtype, {made.batch, made.queries, made.heads * made.v_width}));
  } else {
    COMMENSAL_TRY(put(made.dtype, {made.batch, made.heads, made.queries, made.v_width}));
  }
  COMMENSAL_TRY(put(made.dtype, {made.batch, made.kv_heads, made.keys(), made.width}));
  COMMENSAL_TRY(put(made.value_dtype, {made.batch, made.kv_heads, made.keys(), made.v_width}));
  COMMENSAL_TRY(put(made.dtype, {made.batch, made.heads, made.queries, made.keys()}));
  made.types.resize(static_cast<std::size_t>(std::clamp(call.output_count, 1, 4)));
  return {};
}

}  // namespace

std::int64_t Attention::q_at(std::int64_t n, std::int64_t head, std::int64_t query) const {
  const std::int64_t row =
      flat_q ? (n * queries + query) * heads + head : (n * heads + head) * queries + query;
  return row * width;
}

ElementRef Attention::kv_at(bool value, std::int64_t n, std::int64_t head, std::int64_t key) const {
  const std::int64_t each = value ? v_width : width;
  if (key < past) {
    return {value ? kPastValue : kPastKey, ((n * kv_heads + head) * past + key) * each};
  }
  const std::int64_t at = key - past;
  const std::int64_t row =
      flat_kv ? (n * fresh + at) * kv_heads + head : (n * kv_heads + head) * fresh + at;
  return {value ? kV : kK, row * each};
}

bool Attention::excluded(std::int64_t n, std::int64_t query, std::int64_t key) const {
  if ((causal && key > query) || key >= mask_keys) return true;
  return !lengths.empty() && key >= lengths[static_cast<std::size_t>(n)];
}

std::int64_t Attention::mask_at(std::int64_t n, std::int64_t head, std::int64_t query,
                                std::int64_t key) const {
  return n * mask_strides[0] + head * mask_strides[1] + query * mask_strides[2] +
         key * mask_strides[3];
}

core::Result<Attention> attention_of(const Call& call) {
  Attention made;
  for (const int input : {Attention::kQ, Attention::kV}) {
    COMMENSAL_TRY(check_dtype<ref::Floats32>(call, input));
  }
  made.dtype = call.in(Attention::kQ).dtype();
  made.value_dtype = call.in(Attention::kV).dtype();
  COMMENSAL_TRY(check_same_dtype(call, Attention::kK));
  COMMENSAL_TRY(check_same_dtype(call, Attention::kPastKey));
  if (call.has(Attention::kPastValue) &&
      call.in(Attention::kPastValue).dtype() != made.value_dtype) {
    return fail(ErrorCode::kInvalidArgument, "past_value must be {} like V",
                traits(made.value_dtype).name);
  }
  COMMENSAL_TRY(read_attributes(call, made));
  COMMENSAL_TRY(read_heads(call, made));
  COMMENSAL_ASSIGN(made.scale,
                   call.attributes->real("scale", 1 / std::sqrt(static_cast<float>(made.width))));
  COMMENSAL_TRY(read_past(call, made));
  COMMENSAL_TRY(read_lengths(call, made));
  COMMENSAL_TRY(read_mask(call, made));
  COMMENSAL_TRY(name_types(call, made));
  return made;
}

}  // namespace commensal::kernels::shape_inference
