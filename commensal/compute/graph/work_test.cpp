// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/graph/work.hpp>

namespace commensal::graph {
namespace {

using kernels::Attributes;
using kernels::Call;
using tensor::Shape;
using tensor::Tensor;
using Ints = std::vector<std::int64_t>;

/// Of one call, with inputs of zeros.
std::int64_t ops_of(std::string_view name, const std::vector<Shape>& shapes,
                    const Attributes& attributes, int outputs = 1) {
  const auto op = kernels::find_operator("", name, 14);
  EXPECT_TRUE(op);
  std::vector<Tensor> zeros;
  std::vector<const Tensor*> inputs;
  for (const Shape& shape : shapes) {
    const std::vector<float> values(static_cast<std::size_t>(shape.elements()));
    zeros.push_back(Tensor::of<float>(shape, values));
  }
  for (const Tensor& one : zeros) inputs.push_back(&one);
  Call call;
  call.opset = 14;
  call.attributes = &attributes;
  call.inputs = inputs;
  call.output_count = outputs;
  auto types = (*op)->judge->infer(call);
  EXPECT_TRUE(types) << types.error().message;
  if (types) call.outputs = *std::move(types);
  return work_of(**op, call).ops;
}

// The fault: each element of a recurrent layer counted as one operation.
TEST(Work, OfRecurrentLayersIsTheirProducts) {
  const std::int64_t steps = 6, batch = 5, width = 7, units = 9;
  const std::pair<const char*, std::int64_t> kLayers[] = {{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}};
  for (const auto& [name, gates] : kLayers) {
    const std::int64_t ops = ops_of(
        name, {{steps, batch, width}, {1, gates * units, width}, {1, gates * units, units}}, {});
    EXPECT_EQ(ops, 2 * steps * batch * units * gates * (width + units)) << name;
  }
}

// The fault: where both samples of the outputs lay in the padding nothing was counted.
TEST(Work, OfPoolsDoesNotHideInThePadding) {
  for (const char* name : {"MaxPool", "AveragePool", "LpPool"}) {
    Attributes attributes;
    attributes.set("kernel_shape", Ints{1024});
    attributes.set("pads", Ints{name == std::string_view("MaxPool") ? 15 * 1024 : 1023, 0});
    EXPECT_GE(ops_of(name, {{1, 1, 1024}}, attributes), 1024 * 1024) << name;
  }
}

}  // namespace
}  // namespace commensal::graph
