// SPDX-License-Identifier: Apache-2.0
// Samples of the losses, of ReduceLogSumExp, of BatchNormalization in training and of the
// trigonometric functions.
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::List;
using make::Shape;

// Values in [-3, 3), other ones for every stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 13, stream);
}

Attributes reduced_by(const char* name) {
  Attributes made;
  made.set("reduction", std::string(name));
  return made;
}
Attributes ignoring(std::int64_t index) {
  Attributes made;
  made.set("ignore_index", index);
  return made;
}

void add_losses(std::vector<Sample>& s) {
  const Tensor flat = Tensor::of<std::int64_t>({3}, List{4, 0, 2});
  const Tensor planes = Tensor::of<std::int64_t>({2, 3}, List{4, 0, 2, -7, 1, -7});
  for (const char* name : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}) {
    for (const char* reduction : {"none", "sum", "mean"}) {
      s.push_back({name, 13, {f32({3, 5}), flat}, reduced_by(reduction)});
      s.push_back({name, 13, {f32({3, 5}), flat, f32({5}, 1)}, reduced_by(reduction)});
      Attributes both = ignoring(-7);
      both.set("reduction", std::string(reduction));
      s.push_back({name, 13, {f32({2, 5, 3}), planes}, both});
    }
    s.push_back({name, 12, {f32({2, 5, 3}), planes, f32({5}, 1)}, ignoring(-7)});
  }
  s.push_back({"SoftmaxCrossEntropyLoss", 13, {f32({2, 5, 3}), planes}, ignoring(-7), 2});
}

void add_batch_normalization(std::vector<Sample>& s) {
  const std::vector<Tensor> inputs = {f32({3, 2, 4}), f32({2}, 1), f32({2}, 2), f32({2}, 3),
                                      Tensor::of<float>({2}, std::array{0.5f, 2.0f})};
  s.push_back({"BatchNormalization", 15, inputs});
  Attributes training;
  training.set("training_mode", std::int64_t{1});
  training.set("momentum", 0.75f);
  s.push_back({"BatchNormalization", 14, inputs, training, 3});
  s.push_back({"BatchNormalization", 15, inputs, training, 1});
}

}  // namespace

std::vector<Sample> loss_samples() {
  std::vector<Sample> samples;
  add_losses(samples);
  add_batch_normalization(samples);
  Attributes axes;
  axes.set("axes", List{1, -1});
  samples.push_back({"ReduceLogSumExp", 13, {f32({2, 9, 5})}, axes});
  samples.push_back(
      {"ReduceLogSumExp", 18, {f32({2, 9, 5}), Tensor::of<std::int64_t>({1}, List{1})}});
  for (const char* name :
       {"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Sin", "Sinh", "Tan"}) {
    samples.push_back({name, 13, {f32({3, 7})}});
  }
  return samples;
}

}  // namespace commensal::kernels::testing
