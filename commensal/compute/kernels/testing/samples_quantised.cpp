// SPDX-License-Identifier: Apache-2.0
// Samples of the operators on codes, of the recurrent, the training and the random ones.
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::List;
using make::Named;
using make::Samples;
using make::Shape;
using make::with;
using Texts = std::vector<std::string>;

// Values in [-2, 2), other ones for every stream.
std::vector<float> draws(const Shape& shape, std::uint64_t stream) {
  return make::draws(shape, 2, 11, stream);
}
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return Tensor::of<float>(shape, draws(shape, stream));
}
template <class T>
Tensor codes(const Shape& shape, std::uint64_t stream = 0) {
  std::vector<T> values;
  for (const float x : draws(shape, stream)) values.push_back(ref::convert<T>(x * 60 + 40));
  return Tensor::of<T>(shape, values);
}
template <class T>
Tensor of(const Shape& shape, std::vector<T> values) {
  return Tensor::of<T>(shape, values);
}
Tensor scale(float value) { return of<float>({}, {value}); }
template <class T>
Tensor zero(T value) {
  return of<T>({}, {value});
}

using u8 = std::uint8_t;
using i8 = std::int8_t;

void add_codes(Samples& s) {
  s.push_back({"QuantizeLinear", 10, {f32({3, 5}), scale(0.02f), zero<u8>(128)}});
  s.push_back({"QuantizeLinear", 10, {f32({3, 5}), scale(0.02f)}});
  s.push_back({"QuantizeLinear",
               13,
               {f32({2, 3, 2}), of<float>({3}, {0.1f, 0.01f, 0.5f}), of<i8>({3}, {0, 5, -128})}});
  s.push_back({"QuantizeLinear",
               17,
               {f32({2, 5}), f32({2, 3}, 1), codes<std::int16_t>({2, 3}, 2)},
               with({{"block_size", std::int64_t{2}}})});
  s.push_back({"DequantizeLinear", 10, {codes<u8>({3, 5}), scale(0.02f), zero<u8>(128)}});
  s.push_back({"DequantizeLinear", 10, {codes<std::int32_t>({7}), scale(0.02f)}});
  s.push_back({"DequantizeLinear",
               13,
               {codes<i8>({3, 2}), of<float>({3}, {0.1f, 0.01f, 0.5f}), of<i8>({3}, {0, 5, -128})},
               with({{"axis", std::int64_t{-2}}})});
  s.push_back({"DynamicQuantizeLinear", 11, {f32({3, 5})}, {}, 3});
  s.push_back({"DynamicQuantizeLinear", 11, {of<float>({3}, {0, 0, 0})}, {}, 3});
}

void add_code_products(Samples& s) {
  s.push_back({"MatMulInteger", 10, {codes<u8>({2, 3, 5}), codes<i8>({5, 4}, 1)}});
  s.push_back(
      {"MatMulInteger",
       10,
       {codes<i8>({3, 5}), codes<u8>({5, 2}, 1), of<i8>({3}, {1, -2, 3}), of<u8>({2}, {128, 7})}});
  s.push_back({"MatMulInteger",
               10,
               {codes<i8>({2, 2, 5}), codes<i8>({2, 5, 2}, 1), codes<i8>({2, 2, 1}, 2),
                codes<i8>({2, 1, 2}, 3)}});
  s.push_back({"ConvInteger",
               10,
               {codes<u8>({1, 2, 4, 5}), codes<u8>({3, 2, 3, 2}, 1), zero<u8>(100)},
               with({{"pads", List{1, 0, 1, 1}}})});
  s.push_back({"ConvInteger",
               10,
               {codes<u8>({2, 4, 5}), codes<i8>({2, 2, 3}, 1), zero<u8>(3), of<i8>({2}, {1, -9})},
               with({{"group", std::int64_t{2}}})});
  s.push_back({"QLinearMatMul",
               10,
               {codes<u8>({2, 3, 5}), scale(0.01f), zero<u8>(113), codes<i8>({5, 4}, 1),
                scale(0.02f), zero<i8>(-3), scale(0.03f), zero<u8>(118)}});
  s.push_back({"QLinearMatMul",
               10,
               {codes<u8>({2, 5}), of<float>({2}, {0.1f, 0.02f}), of<u8>({2}, {3, 200}),
                codes<i8>({5, 3}, 1), of<float>({3}, {0.1f, 0.2f, 0.3f}), of<i8>({3}, {0, 1, 2}),
                scale(2.0f), zero<i8>(9)}});
  s.push_back({"QLinearConv",
               10,
               {codes<u8>({1, 2, 4, 5}), scale(0.01f), zero<u8>(113), codes<i8>({3, 2, 3, 2}, 1),
                of<float>({3}, {0.1f, 0.2f, 0.3f}), of<i8>({3}, {0, 1, 2}), scale(0.3f),
                zero<u8>(118), of<std::int32_t>({3}, {-300, 0, 20000})},
               with({{"auto_pad", std::string("SAME_UPPER")}, {"strides", List{2, 1}}})});
}

void add_recurrent(Samples& s, const std::string& name, std::int64_t gates, int outputs) {
  const std::int64_t hidden = 3, width = 2;
  const Tensor w = f32({1, gates * hidden, width}, 1), r = f32({1, gates * hidden, hidden}, 2);
  s.push_back({name, 7, {f32({3, 2, width}), w, r}, {}, outputs});
  std::vector<Tensor> all = {f32({4, 2, width}),
                             f32({2, gates * hidden, width}, 1),
                             f32({2, gates * hidden, hidden}, 2),
                             f32({2, 2 * gates * hidden}, 3),
                             of<std::int32_t>({2}, {4, 2}),
                             f32({2, 2, hidden}, 4)};
  if (name == "LSTM") all.insert(all.end(), {f32({2, 2, hidden}, 5), f32({2, 3 * hidden}, 6)});
  s.push_back({name, 14, all,
               with({{"direction", std::string("bidirectional")},
                     {"clip", 1.5f},
                     {"linear_before_reset", std::int64_t{1}},
                     {"hidden_size", hidden}}),
               outputs});
  s.push_back({name,
               14,
               {f32({2, 3, width}), w, r, Tensor(), of<std::int32_t>({2}, {3, 1})},
               with({{"direction", std::string("reverse")},
                     {"layout", std::int64_t{1}},
                     {"input_forget", std::int64_t{1}}}),
               outputs});
}

void add_activations(Samples& s) {
  for (const char* name : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh",
                           "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
    s.push_back({"RNN",
                 14,
                 {f32({2, 1, 2}), f32({1, 3, 2}, 1), f32({1, 3, 3}, 2)},
                 with({{"activations", Texts{name}},
                       {"activation_alpha", std::vector<float>{0.75f}},
                       {"activation_beta", std::vector<float>{0.25f}}})});
  }
}

void add_training(Samples& s) {
  const std::string domain = "ai.onnx.preview.training";
  const Tensor rate = scale(0.1f), t = of<std::int64_t>({}, {3});
  const Tensor x = f32({2, 3}), y = f32({4}, 1), h = of<float>({4}, {0.5f, 2, 0, 1});
  const Tensor g = of<float>({2, 3}, {1, 2, 3, 0, 5, 6});
  const auto given = with({{"norm_coefficient", 0.01f}, {"epsilon", 1e-5f}});
  s.push_back({"Adagrad", 1, {rate, t, x, y, x, y, g, h}, given, 4, domain});
  s.push_back({"Adam", 1, {rate, t, x, y, x, y, x, y, g, h}, given, 6, domain});
  for (const char* mode : {"standard", "nesterov"}) {
    s.push_back({"Momentum",
                 1,
                 {rate, t, x, f32({2, 3}, 3), g},
                 with({{"alpha", 0.9f}, {"beta", 0.5f}, {"mode", std::string(mode)}}),
                 2,
                 domain});
  }
}

void add_random(Samples& s) {
  const auto given = with({{"shape", List{2, 5}}, {"seed", 7.0f}});
  s.push_back({"RandomUniform", 1, {}, given});
  s.push_back({"RandomNormal", 1, {}, given});
  s.push_back({"RandomUniformLike", 1, {f32({2, 3})}});
  s.push_back({"RandomNormalLike", 1, {f32({2, 3})}, with({{"dtype", std::int64_t{10}}})});
  s.push_back({"Bernoulli", 15, {f32({3, 4})}, with({{"dtype", std::int64_t{7}}})});
  s.push_back({"Bernoulli", 15, {f32({3, 4})}});
  s.push_back({"Multinomial", 7, {f32({3, 4})}, with({{"sample_size", std::int64_t{5}}})});
}

}  // namespace

std::vector<Sample> quantised_samples() {
  Samples samples;
  add_codes(samples);
  add_code_products(samples);
  add_recurrent(samples, "RNN", 1, 2);
  add_recurrent(samples, "GRU", 3, 2);
  add_recurrent(samples, "LSTM", 4, 3);
  add_activations(samples);
  add_training(samples);
  add_random(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
