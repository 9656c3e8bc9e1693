// SPDX-License-Identifier: Apache-2.0
// Samples of Attention and its companions, of newer activations and places, and of bits.
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::i64;
using make::List;
using make::list;
using make::Named;
using make::Samples;
using make::Shape;
using make::text;
using make::with;

// Values in [-3, 3), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 19, stream);
}
template <class T>
Tensor integers(const Shape& shape, std::uint64_t stream = 0) {
  const Tensor from = f32(shape, stream);
  std::vector<T> values;
  for (const float x : from.data<float>()) {
    values.push_back(static_cast<T>(static_cast<std::int64_t>(x * 40)));
  }
  return Tensor::of<T>(shape, values);
}
Tensor booleans(const Shape& shape, std::uint64_t stream) {
  return make::booleans_of(f32(shape, stream), -1);
}
constexpr std::int64_t kOne = 1, kTwo = 2;

void add_attention(Samples& s) {
  const Tensor q = f32({2, 4, 3, 5}), k = f32({2, 2, 4, 5}, 1), v = f32({2, 2, 4, 3}, 2);
  const Tensor past_key = f32({2, 2, 3, 5}, 3), past_value = f32({2, 2, 3, 3}, 4);
  s.push_back({"Attention", 23, {q, k, v}});
  s.push_back({"Attention", 23, {q, k, v}, with({{"is_causal", kOne}, {"scale", 0.3f}})});
  s.push_back({"Attention",
               23,
               {f32({2, 3, 12}), f32({2, 4, 6}, 1), f32({2, 4, 10}, 2), booleans({3, 4}, 5)},
               with({{"q_num_heads", std::int64_t{4}}, {"kv_num_heads", kTwo}})});
  for (const std::int64_t shown : {0, 1, 2, 3}) {
    s.push_back({"Attention",
                 24,
                 {q, k, v, f32({4, 3, 6}, 5), past_key, past_value},
                 with({{"qk_matmul_output_mode", shown}, {"softcap", 2.0f}}),
                 4});
  }
  s.push_back(
      {"Attention", 24, {q, k, v, f32({2, 1, 3, 1}, 5), Tensor(), Tensor(), list({4, 2})}, {}, 3});
}

void add_caches(Samples& s) {
  const Tensor positions = i64({2, 3}, {4, 0, 1, 2, 2, 3});
  s.push_back(
      {"RotaryEmbedding", 23, {f32({2, 2, 3, 6}), f32({5, 3}, 1), f32({5, 3}, 2), positions}});
  s.push_back({"RotaryEmbedding",
               23,
               {f32({2, 3, 12}), f32({2, 3, 3}, 1), f32({2, 3, 3}, 2)},
               with({{"num_heads", kTwo}, {"interleaved", kOne}})});
  s.push_back({"RotaryEmbedding",
               23,
               {f32({2, 3, 12}), f32({5, 3}, 1), f32({5, 3}, 2), positions},
               with({{"num_heads", kTwo}, {"rotary_embedding_dim", std::int64_t{4}}})});
  s.push_back({"TensorScatter", 24, {f32({2, 5, 3}), f32({2, 2, 3}, 1), list({3, 0})}});
  s.push_back({"TensorScatter",
               24,
               {f32({2, 2, 5}), f32({2, 2, 2}, 1), list({4, 1})},
               with({{"mode", text("circular")}, {"axis", std::int64_t{-1}}})});
  s.push_back({"TensorScatter", 24, {f32({2, 5, 3}), f32({2, 2, 3}, 1)}});
}

void add_elementwise(Samples& s) {
  for (const char* name : {"Gelu", "Mish", "Swish"}) s.push_back({name, 24, {f32({3, 7})}});
  s.push_back({"Gelu", 20, {f32({3, 7})}, with({{"approximate", text("tanh")}})});
  s.push_back({"Swish", 24, {f32({3, 7})}, with({{"alpha", 1.7f}})});
  for (const char* name : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    s.push_back({name, 18, {integers<std::int16_t>({3, 4}), integers<std::int16_t>({4}, 1)}});
    s.push_back({name, 18, {integers<std::uint64_t>({3, 1}), integers<std::uint64_t>({4}, 1)}});
  }
  s.push_back({"BitwiseNot", 18, {integers<std::int8_t>({3, 4})}});
  s.push_back({"BitwiseNot", 18, {integers<std::uint32_t>({3, 4})}});
}

void add_places(Samples& s) {
  s.push_back({"AffineGrid", 20, {f32({2, 2, 3}), list({2, 3, 4, 5})}});
  s.push_back(
      {"AffineGrid", 20, {f32({1, 3, 4}), list({1, 1, 1, 2, 3})}, with({{"align_corners", kOne}})});
  s.push_back({"CenterCropPad", 18, {f32({5, 4, 3}), list({2, 7, 3})}});
  s.push_back({"CenterCropPad", 18, {f32({5, 4, 3}), list({4, 8})}, with({{"axes", List{-1, 0}}})});
  s.push_back({"DeformConv",
               19,
               {f32({2, 4, 4, 5}), f32({6, 2, 2, 2}, 1), f32({2, 16, 5, 3}, 2), f32({6}, 3),
                f32({2, 8, 5, 3}, 4)},
               with({{"group", kTwo},
                     {"offset_group", kTwo},
                     {"pads", List{1, 0, 1, 1}},
                     {"strides", List{1, 2}}})});
  s.push_back({"DeformConv", 22, {f32({1, 1, 3, 3}), f32({1, 1, 2, 2}, 1), f32({1, 8, 2, 2}, 2)}});
  // In binary64, which `with_specials` spares: a region must be finite.
  std::vector<double> pixels;
  const Tensor single = f32({2, 2, 6, 7});
  for (const float pixel : single.data<float>()) pixels.push_back(pixel);
  const Tensor region = Tensor::of<double>({1, 5}, std::vector{1.0, 2.2, 1.0, 9.0, 4.5});
  s.push_back({"MaxRoiPool",
               1,
               {Tensor::of<double>({2, 2, 6, 7}, pixels), region},
               with({{"pooled_shape", List{3, 2}}, {"spatial_scale", 0.75f}})});
}

}  // namespace

std::vector<Sample> attention_samples() {
  Samples samples;
  add_attention(samples);
  add_caches(samples);
  add_elementwise(samples);
  add_places(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
