// SPDX-License-Identifier: Apache-2.0
// Samples of spectra and windows, of norms, and of what trains.
#include <cmath>
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::List;
using make::list;
using make::Named;
using make::Samples;
using make::scalar;
using make::Shape;
using make::with;

// Values in [-3, 3), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 17, stream);
}
Tensor positive(const Shape& shape, std::uint64_t stream) {
  return make::positive_of(f32(shape, stream));
}
Tensor boolean(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return Tensor::copy_of({tensor::DType::kBool, {}}, {&byte, 1});
}
constexpr std::int64_t kOne = 1, kZero = 0;

void add_spectra(Samples& s) {
  for (const char* name : {"BlackmanWindow", "HammingWindow", "HannWindow"}) {
    s.push_back({name, 17, {scalar<std::int32_t>(10)}});
    s.push_back({name, 17, {scalar<std::int64_t>(1)}, with({{"periodic", kZero}})});
    s.push_back({name,
                 17,
                 {scalar<std::int64_t>(7)},
                 with({{"periodic", kZero}, {"output_datatype", std::int64_t{10}}})});
  }
  s.push_back({"MelWeightMatrix",
               17,
               {scalar<std::int32_t>(8), scalar<std::int32_t>(16), scalar<std::int32_t>(8192),
                scalar(0.0f), scalar(4096.0f)}});
  s.push_back({"DFT", 17, {f32({2, 6, 1})}, with({{"onesided", kOne}})});
  s.push_back({"DFT", 17, {f32({2, 3, 5, 2}), scalar<std::int64_t>(7)}, with({{"axis", kOne}})});
  s.push_back({"DFT", 20, {f32({2, 4, 2}), scalar<std::int64_t>(3), scalar<std::int64_t>(-2)}});
  s.push_back({"DFT", 20, {f32({4, 3, 2})}, with({{"inverse", kOne}})});
  s.push_back({"STFT", 17, {f32({2, 9, 1}), scalar<std::int64_t>(2), f32({4}, 1)}});
  s.push_back({"STFT",
               17,
               {f32({1, 8, 2}), scalar<std::int64_t>(3), Tensor(), scalar<std::int64_t>(5)},
               with({{"onesided", kZero}})});
  s.push_back({"Col2Im", 18, {f32({1, 8, 12}), list({4, 5}), list({2, 2})}});
  s.push_back(
      {"Col2Im",
       18,
       {f32({2, 6, 9}, 1), list({5, 4}), list({3, 2})},
       with({{"strides", List{2, 1}}, {"pads", List{1, 0, 1, 1}}, {"dilations", List{1, 2}}})});
}

void add_norms(Samples& s) {
  const auto pool = [](std::int64_t p) {
    return with({{"kernel_shape", List{3, 2}}, {"pads", List{1, 0, 1, 1}}, {"p", p}});
  };
  for (const std::int64_t p : {1, 2, 3}) s.push_back({"LpPool", 18, {f32({1, 2, 5, 4})}, pool(p)});
  s.push_back({"LpPool", 1, {f32({1, 2, 5})}, with({{"kernel_shape", List{2}}, {"p", 1.5f}})});
  s.push_back({"GlobalLpPool", 2, {f32({2, 3, 4, 3})}, with({{"p", std::int64_t{3}}})});
  s.push_back({"GlobalLpPool", 1, {f32({2, 1, 35})}});
  s.push_back({"LpNormalization", 22, {f32({2, 5, 3})}, with({{"axis", kOne}})});
  s.push_back({"LpNormalization", 1, {f32({2, 35})}, with({{"p", kOne}})});
  s.push_back({"LpNormalization", 1, {Tensor::of<float>({3}, std::array{0.0f, -0.0f, 0.0f})}});
  s.push_back({"MeanVarianceNormalization", 9, {f32({2, 3, 2, 2})}});
  s.push_back({"MeanVarianceNormalization", 13, {f32({2, 3, 5})}, with({{"axes", List{-1, 0}}})});
  s.push_back({"RMSNormalization", 23, {f32({3, 35}), f32({35}, 1)}});
  s.push_back({"RMSNormalization", 23, {f32({2, 3, 4}), f32({3, 1}, 1)}, with({{"axis", kOne}})});
  for (const auto& [opset, parameters] : {std::pair(18, 2), std::pair(21, 6)}) {
    s.push_back({"GroupNormalization",
                 opset,
                 {f32({2, 6, 3}), f32({parameters}, 1), f32({parameters}, 2)},
                 with({{"num_groups", std::int64_t{2}}, {"epsilon", 1e-2f}})});
  }
}

void add_training(Samples& s) {
  const auto inputs = [](const Shape& p) {
    return std::vector{f32({4, 3, 2}), f32(p, 1), f32(p, 2), f32(p, 3), positive(p, 4)};
  };
  s.push_back({"BatchNormalization", 15, inputs({3}),
               with({{"training_mode", kOne}, {"momentum", 0.7f}}), 3});
  s.push_back({"BatchNormalization", 14, inputs({3}), with({{"training_mode", kOne}})});
  s.push_back({"BatchNormalization", 15, inputs({3})});
  s.push_back({"BatchNormalization", 9, inputs({3}), {}, 5});
  s.push_back({"BatchNormalization", 6, inputs({3, 2}), with({{"spatial", kZero}}), 5});
  s.push_back({"Dropout", 6, {f32({2, 9})}, with({{"ratio", 0.3f}}), 2});
  const Attributes seed = with({{"seed", std::int64_t{-5}}});
  s.push_back({"Dropout", 13, {f32({5, 7}), scalar(0.5f), boolean(true)}, seed, 2});
  s.push_back({"Dropout", 22, {f32({9}), Tensor(), boolean(true)}, seed});
  s.push_back({"Dropout", 22, {f32({9}), scalar(0.75f), boolean(false)}, seed, 2});
}

}  // namespace

std::vector<Sample> signal_samples() {
  Samples samples;
  add_spectra(samples);
  add_norms(samples);
  add_training(samples);
  return samples;
}

}  // namespace commensal::kernels::testing
