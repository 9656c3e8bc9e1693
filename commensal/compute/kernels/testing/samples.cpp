// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/arithmetic.hpp>
#include <commensal/compute/kernels/ref/value.hpp>
#include <commensal/compute/kernels/testing/samples_domains.hpp>
#include <commensal/compute/kernels/testing/samples_make.hpp>
#include <limits>

namespace commensal::kernels::testing {
namespace {

using make::List;
using make::list;
using make::Named;
using make::Samples;
using make::scalar;
using make::Shape;
using make::with;

// Values in [-3, 3), other ones for every shape and stream.
Tensor f32(const Shape& shape, std::uint64_t stream = 0) {
  return make::uniform(shape, 3, 7, stream);
}
// As f32, but above 0.
Tensor positive(const Shape& shape, std::uint64_t stream = 0) {
  return make::positive_of(f32(shape, stream));
}
template <class T>
Tensor small_integers(const Shape& shape, std::uint64_t stream = 0) {
  const Tensor from = f32(shape, stream);
  std::vector<T> values;
  for (const float x : from.data<float>()) values.push_back(ref::convert<T>(x * 1.4f));
  return Tensor::of<T>(shape, values);
}
Tensor booleans(const Shape& shape, std::uint64_t stream = 0) {
  return make::booleans_of(f32(shape, stream), 0);
}

void add_products(Samples& s) {
  s.push_back({"Conv",
               11,
               {f32({2, 3, 6, 5}), f32({4, 3, 3, 3}, 1), f32({4}, 2)},
               with({{"pads", List{1, 1, 0, 2}}, {"strides", List{2, 1}}})});
  s.push_back({"Conv",
               11,
               {f32({1, 4, 7}), f32({6, 2, 3}, 1)},
               with({{"group", std::int64_t{2}}, {"dilations", List{2}}, {"pads", List{3, 1}}})});
  s.push_back({"Conv",
               11,
               {f32({1, 16, 5, 4}), f32({3, 16, 3, 3}, 1), f32({3}, 2)},
               with({{"auto_pad", std::string("SAME_UPPER")}})});
  s.push_back({"Conv",
               11,
               {f32({1, 16, 15, 13}), f32({2, 16, 3, 3}, 1)},
               with({{"pads", List{0, 1, 0, 1}}})});
  s.push_back({"Conv",
               11,
               {f32({1, 2, 3, 4, 3}), f32({2, 1, 2, 2, 2}, 1)},
               with({{"group", std::int64_t{2}}, {"auto_pad", std::string("SAME_LOWER")}})});
  s.push_back({"Gemm", 11, {f32({3, 5}), f32({5, 4}, 1), f32({4}, 2)}, {}});
  s.push_back({"Gemm",
               11,
               {f32({5, 3}), f32({4, 5}, 1), f32({3, 1}, 2)},
               with({{"transA", std::int64_t{1}},
                     {"transB", std::int64_t{1}},
                     {"alpha", 0.5f},
                     {"beta", -1.5f}})});
  s.push_back({"MatMul", 13, {f32({2, 1, 3, 5}), f32({4, 5, 2}, 1)}, {}});
  s.push_back({"MatMul", 13, {f32({5}), f32({5, 2}, 1)}, {}});
  const auto bn =
      std::vector{f32({2, 3, 4}), f32({3}, 1), f32({3}, 2), f32({3}, 3), positive({3}, 4)};
  s.push_back({"BatchNormalization", 9, bn, with({{"epsilon", 1e-3f}})});
  s.push_back({"InstanceNormalization", 6, {f32({2, 3, 4}), f32({3}, 1), f32({3}, 2)}});
  s.push_back({"LayerNormalization",
               17,
               {f32({2, 3, 4}), f32({3, 4}, 1), f32({3, 4}, 2)},
               with({{"axis", std::int64_t{1}}}),
               3});
  s.push_back({"LayerNormalization", 17, {f32({2, 35}), f32({35}, 1)}});
  s.push_back({"LRN", 13, {f32({1, 7, 2, 2})}, with({{"size", std::int64_t{4}}, {"alpha", 0.1f}})});
}

void add_pools(Samples& s) {
  const List kernel = {3, 2};
  s.push_back({"AveragePool",
               10,
               {f32({1, 2, 7, 5})},
               with({{"kernel_shape", kernel},
                     {"strides", List{2, 2}},
                     {"pads", List{1, 0, 1, 1}},
                     {"ceil_mode", std::int64_t{1}}})});
  s.push_back({"AveragePool",
               10,
               {f32({1, 2, 7, 5})},
               with({{"kernel_shape", kernel},
                     {"pads", List{1, 1, 1, 1}},
                     {"count_include_pad", std::int64_t{1}}})});
  s.push_back({"AveragePool", 10, {f32({1, 1, 9, 8})}, with({{"kernel_shape", List{8, 7}}})});
  s.push_back({"MaxPool",
               12,
               {f32({1, 2, 7, 5})},
               with({{"kernel_shape", kernel},
                     {"dilations", List{2, 1}},
                     {"storage_order", std::int64_t{1}},
                     {"pads", List{1, 1, 0, 0}}}),
               2});
  s.push_back({"MaxPool", 8, {f32({2, 1, 6})}, with({{"kernel_shape", List{2}}}), 2});
  s.push_back({"GlobalAveragePool", 1, {f32({2, 3, 7, 6})}, {}});
  s.push_back({"GlobalMaxPool", 1, {f32({2, 3, 4, 2})}, {}});
}

void add_unary(Samples& s) {
  for (const char* name : {"Abs",        "Ceil",
                           "Celu",       "Elu",
                           "Erf",        "Exp",
                           "Floor",      "HardSigmoid",
                           "HardSwish",  "IsInf",
                           "IsNaN",      "LeakyRelu",
                           "Log",        "Neg",
                           "Reciprocal", "Relu",
                           "Round",      "Selu",
                           "Shrink",     "Sigmoid",
                           "Sign",       "Softplus",
                           "Softsign",   "Sqrt",
                           "Tanh",       "ThresholdedRelu"}) {
    s.push_back({name, 16, {f32({3, 7})}});
  }
  s.push_back({"Not", 16, {booleans({5})}});
  s.push_back({"Clip", 6, {f32({9})}, with({{"min", -1.0f}, {"max", 0.5f}})});
  s.push_back({"Clip", 13, {f32({9}), scalar(-1.0f), scalar(0.5f)}});
  s.push_back({"Clip", 13, {f32({9}), Tensor(), scalar(0.5f)}});
  for (const std::int64_t to : {1, 2, 3, 6, 7, 9, 10, 11, 12, 16}) {
    s.push_back({"Cast", 13, {f32({11})}, with({{"to", to}})});
  }
  s.push_back({"CastLike", 15, {f32({4}), small_integers<std::int32_t>({2})}});
}

void add_binary(Samples& s) {
  for (const char* name : {"Add", "Div", "Equal", "Greater", "GreaterOrEqual", "Less",
                           "LessOrEqual", "Max", "Mean", "Min", "Mul", "PRelu", "Sub", "Sum"}) {
    s.push_back({name, 16, {f32({2, 3, 4}), f32({3, 1}, 1)}});
  }
  for (const char* name : {"Max", "Mean", "Min", "Sum"}) {
    s.push_back({name, 13, {f32({3, 1}), f32({4}, 1), f32({3, 4}, 2)}});
    s.push_back({name, 13, {f32({3, 1})}});
  }
  for (const char* name : {"Div", "Mod", "Mul", "Pow"}) {
    s.push_back(
        {name, 13, {small_integers<std::int32_t>({3, 4}), small_integers<std::int32_t>({4}, 1)}});
  }
  s.push_back({"Mod", 13, {f32({3, 4}), f32({4}, 1)}, with({{"fmod", std::int64_t{1}}})});
  s.push_back({"Pow", 13, {positive({3, 4}), f32({4}, 1)}});
  s.push_back({"Pow", 13, {f32({3, 4}), small_integers<std::int64_t>({4}, 1)}});
  s.push_back({"BitShift",
               11,
               {small_integers<std::uint16_t>({3, 4}), small_integers<std::uint16_t>({4}, 1)},
               with({{"direction", std::string("LEFT")}})});
  for (const char* name : {"And", "Or", "Xor", "Equal"}) {
    s.push_back({name, 13, {booleans({2, 3}), booleans({3}, 1)}});
  }
  s.push_back({"Where", 16, {booleans({2, 1}), f32({2, 3}, 1), f32({3}, 2)}});
}

void add_shapes(Samples& s) {
  s.push_back({"Identity", 16, {f32({2, 3})}});
  s.push_back({"Reshape", 14, {f32({2, 3, 4}), list({0, -1, 2})}});
  s.push_back({"Flatten", 13, {f32({2, 3, 4})}, with({{"axis", std::int64_t{-1}}})});
  s.push_back({"Squeeze", 11, {f32({2, 1, 4, 1})}, with({{"axes", List{1}}})});
  s.push_back({"Squeeze", 13, {f32({2, 1, 4, 1})}});
  s.push_back({"Squeeze", 13, {f32({2, 1, 4, 1}), list({-1})}});
  s.push_back({"Unsqueeze", 11, {f32({2, 4})}, with({{"axes", List{0, 2}}})});
  s.push_back({"Unsqueeze", 13, {f32({2, 4}), list({-1})}});
  s.push_back({"Dropout", 8, {f32({2, 4})}, {}, 2});
  s.push_back({"Dropout", 13, {f32({2, 4}), scalar(0.5f)}, {}, 2});
  s.push_back({"Shape", 15, {f32({2, 4, 3})}, with({{"start", std::int64_t{-2}}})});
  s.push_back({"Size", 13, {f32({2, 4, 3})}});
  s.push_back({"Constant", 13, {}, with({{"value", f32({2, 2})}})});
  s.push_back({"Constant", 13, {}, with({{"value_ints", List{4, 5}}})});
  s.push_back({"ConstantOfShape", 9, {list({2, 3})}, with({{"value", Attribute(scalar(2.5f))}})});
  s.push_back({"EyeLike", 9, {f32({3, 4})}, with({{"k", std::int64_t{1}}})});
  s.push_back({"Range", 11, {scalar(1.0f), scalar(3.1f), scalar(0.3f)}});
  s.push_back(
      {"Range", 11, {scalar<std::int64_t>(9), scalar<std::int64_t>(-2), scalar<std::int64_t>(-3)}});
}

void add_movement(Samples& s) {
  s.push_back({"Transpose", 13, {f32({2, 3, 4})}, with({{"perm", List{1, 2, 0}}})});
  s.push_back({"Transpose", 13, {f32({2, 3})}});
  s.push_back({"Trilu", 14, {f32({2, 3, 4}), scalar<std::int64_t>(1)}});
  s.push_back({"Trilu", 14, {f32({4, 3})}, with({{"upper", std::int64_t{0}}})});
  s.push_back({"Compress", 11, {f32({2, 4}), booleans({4}, 3)}, with({{"axis", std::int64_t{1}}})});
  s.push_back({"Compress", 11, {f32({2, 4}), booleans({7}, 3)}});
  s.push_back({"GatherND",
               13,
               {f32({2, 5, 3}), Tensor::of<std::int64_t>({2, 2, 1}, List{0, -1, 4, 2})},
               with({{"batch_dims", std::int64_t{1}}})});
  s.push_back({"Concat",
               13,
               {f32({2, 1, 2}), f32({2, 3, 2}, 1), f32({2, 0, 2}, 2)},
               with({{"axis", std::int64_t{1}}})});
  s.push_back({"Split", 11, {f32({2, 6})}, with({{"axis", std::int64_t{1}}}), 3});
  s.push_back({"Split", 13, {f32({5, 2}), list({1, 4})}, {}, 2});
  s.push_back({"Expand", 13, {f32({3, 1}), list({2, 1, 4})}});
  s.push_back({"Tile", 13, {f32({2, 3}), list({2, 3})}});
  s.push_back({"DepthToSpace", 13, {f32({1, 8, 2, 3})}, with({{"blocksize", std::int64_t{2}}})});
  s.push_back({"DepthToSpace",
               13,
               {f32({1, 8, 2, 3})},
               with({{"blocksize", std::int64_t{2}}, {"mode", std::string("CRD")}})});
  s.push_back({"SpaceToDepth", 13, {f32({1, 2, 4, 6})}, with({{"blocksize", std::int64_t{2}}})});
  s.push_back({"Slice", 9, {f32({4, 5})}, with({{"starts", List{1, -4}}, {"ends", List{9, -1}}})});
  s.push_back({"Slice", 13, {f32({4, 5}), list({-1}), list({-9}), list({1}), list({-2})}});
  s.push_back({"Gather",
               13,
               {f32({4, 5, 2}), small_integers<std::int64_t>({3, 2})},
               with({{"axis", std::int64_t{1}}})});
  s.push_back({"GatherElements",
               13,
               {f32({5, 5}), small_integers<std::int32_t>({5, 3})},
               with({{"axis", std::int64_t{0}}})});
  s.push_back({"Pad", 10, {f32({2, 3})}, with({{"pads", List{1, 0, -1, 2}}, {"value", 2.0f}})});
  s.push_back({"Pad", 13, {f32({2, 3}), list({1, 0, 0, 2}), scalar(1.5f)}});
  s.push_back({"Pad",
               18,
               {f32({2, 4}), list({1, 2}), Tensor(), list({-1})},
               with({{"mode", std::string("reflect")}})});
  s.push_back(
      {"Pad", 13, {f32({2, 4}), list({1, 2, 2, 3})}, with({{"mode", std::string("edge")}})});
}

void add_reductions(Samples& s) {
  for (const char* name : {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceMax", "ReduceMean",
                           "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}) {
    s.push_back({name, 11, {positive({2, 9, 5})}, with({{"axes", List{1, -1}}})});
    s.push_back(
        {name, 18, {positive({2, 9, 5}), list({1})}, with({{"keepdims", std::int64_t{0}}})});
    s.push_back({name, 18, {positive({2, 3})}});
  }
  for (const char* name : {"Hardmax", "LogSoftmax", "Softmax"}) {
    s.push_back({name, 11, {f32({2, 3, 13})}});
    s.push_back({name, 13, {f32({2, 3, 4})}, with({{"axis", std::int64_t{1}}})});
  }
  s.push_back({"CumSum", 14, {f32({2, 5, 3}), scalar<std::int64_t>(1)}});
  s.push_back({"CumSum",
               14,
               {f32({4}), list({-1})},
               with({{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}})});
  for (const char* name : {"ArgMax", "ArgMin"}) {
    s.push_back({name, 13, {f32({2, 5, 3})}, with({{"axis", std::int64_t{1}}})});
    s.push_back({name,
                 13,
                 {small_integers<std::int32_t>({2, 9})},
                 with({{"axis", std::int64_t{-1}}, {"select_last_index", std::int64_t{1}}})});
  }
}

// What older opsets do otherwise.
void add_old(Samples& s) {
  const auto one = std::int64_t{1};
  for (const char* name : {"Add", "Div", "Less", "Mul", "Sub"}) {
    s.push_back(
        {name, 6, {f32({2, 3, 4}), f32({3}, 1)}, with({{"broadcast", one}, {"axis", one}})});
  }
  s.push_back({"Add", 6, {f32({2, 3, 4}), f32({3, 1}, 1)}, with({{"broadcast", one}})});
  s.push_back({"Add", 1, {f32({2, 3}), f32({1, 1}, 1)}, with({{"broadcast", one}})});
  s.push_back({"PRelu", 6, {f32({2, 3, 4}), f32({3}, 1)}});
  s.push_back({"PRelu", 6, {f32({2, 3, 4}), f32({1}, 1)}});
  s.push_back({"Sum", 6, {f32({3, 4}), f32({3, 4}, 1), f32({3, 4}, 2)}});
  s.push_back({"Selu", 5, {f32({9})}});
  s.push_back({"Cast", 5, {f32({11})}, with({{"to", std::string("INT32")}})});
  s.push_back({"Gemm",
               6,
               {f32({3, 5}), f32({5, 4}, 1), f32({4}, 2)},
               with({{"broadcast", one}, {"alpha", 0.5f}})});
  s.push_back({"BatchNormalization",
               6,
               {f32({2, 3, 4}), f32({3, 4}, 1), f32({3, 4}, 2), f32({3, 4}, 3), positive({3, 4})},
               with({{"is_test", one}, {"spatial", std::int64_t{0}}})});
  s.push_back({"MaxPool", 7, {f32({2, 1, 6})}, with({{"kernel_shape", List{2}}})});
  s.push_back({"Dropout", 6, {f32({2, 4})}, with({{"is_test", one}}), 2});
  s.push_back({"Concat", 3, {f32({2, 1}), f32({2, 3}, 1)}});
  s.push_back({"Reshape", 4, {f32({2, 3, 4})}, with({{"shape", List{0, -1, 2}}})});
  s.push_back({"Split", 1, {f32({5, 2}), list({1, 4})}, {}, 2});
  s.push_back({"Pad", 1, {f32({2, 3})}, with({{"paddings", List{1, 0, 0, 2}}})});
  s.push_back({"Tile", 5, {small_integers<std::int32_t>({2, 3}), scalar(2.0f), scalar(1.0f)}});
}

}  // namespace

std::vector<Sample> all_samples() {
  Samples samples;
  add_products(samples);
  add_pools(samples);
  add_unary(samples);
  add_binary(samples);
  add_shapes(samples);
  add_movement(samples);
  add_reductions(samples);
  for (Sample& sample : place_samples()) samples.push_back(std::move(sample));
  add_old(samples);
  for (Sample& sample : quantised_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : loss_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : signal_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : attention_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : small_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : ml_samples()) samples.push_back(std::move(sample));
  for (Sample& sample : string_samples()) samples.push_back(std::move(sample));
  return samples;
}

SampleCall::SampleCall(Sample sample) : sample_(std::move(sample)) {
  auto found = find_operator(sample_.domain, sample_.name, sample_.opset);
  core::check(found.has_value(), "the sample's operator is in the table");
  op_ = *found;
  for (const Tensor& input : sample_.inputs) {
    inputs_.push_back(input.defined() ? &input : nullptr);
  }
  call_.opset = sample_.opset;
  call_.attributes = &sample_.attributes;
  call_.inputs = inputs_;
  call_.output_count = sample_.outputs;
}

core::Result<void> SampleCall::infer() {
  COMMENSAL_ASSIGN(call_.outputs, op_->judge->infer(call_));
  return {};
}

std::vector<Tensor> SampleCall::run_ref() {
  tensor::Arena arena(1 << 26);
  ThreadPool threads(1);
  Workspace workspace{arena, threads};
  std::vector<Tensor> outputs = *allocate_outputs(call_, arena);
  const auto done = op_->judge->run(call_, outputs, workspace);
  core::check(done.has_value(), "infer accepted the sample");
  return outputs;
}

Sample as_type(const Sample& sample, tensor::DType dtype) {
  Sample made = sample;
  for (Tensor& input : made.inputs) {
    if (input.dtype() != tensor::DType::kFloat32) continue;
    const Tensor from = input;
    if (tensor::is_small(dtype)) {
      input = as_small(from, dtype);
      continue;
    }
    input = ref::visit(ref::Everything{}, dtype, [&]<class T>() {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(from.elements()) * sizeof(T));
      for (std::size_t i = 0; i * sizeof(T) < bytes.size(); ++i) {
        const T value = ref::store<T>(ref::convert<ref::Compute<T>>(from.data<float>()[i]));
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
      }
      return Tensor::copy_of({dtype, from.shape()}, bytes);
    });
  }
  return made;
}

Sample with_specials(const Sample& sample) {
  using Limits = std::numeric_limits<float>;
  const float specials[] = {
      Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), 0.0f, -0.0f,
      Limits::denorm_min()};
  Sample made = sample;
  for (Tensor& input : made.inputs) {
    if (input.dtype() != tensor::DType::kFloat32 || input.elements() < 2) continue;
    std::vector<float> values(input.data<float>().begin(), input.data<float>().end());
    for (std::size_t i = 0, next = values.size(); i < values.size(); i += 5) {
      values[i] = specials[next++ % std::size(specials)];
    }
    input = Tensor::of<float>(input.shape(), values);
  }
  return made;
}

}  // namespace commensal::kernels::testing
