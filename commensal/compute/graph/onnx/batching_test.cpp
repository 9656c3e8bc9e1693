// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/batching.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <cstdlib>
#include <functional>

namespace commensal::graph::onnx {
namespace {

using namespace graph::testing;
using kernels::Attribute;
using kernels::Attributes;
using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

Attributes with(std::initializer_list<std::pair<const char*, Attribute>> named) {
  Attributes made;
  for (const auto& [name, value] : named) made.set(name, value);
  return made;
}
Attribute number(std::int64_t value) { return value; }
Attributes axis(std::int64_t value) { return with({{"axis", number(value)}}); }

/// Of a graph whose input is float32[N, dims...]; `make` adds nodes and returns the output.
std::string objection(const Ints& dims, const std::function<ValueId(GraphMaker&, ValueId)>& make) {
  GraphMaker maker;
  Ints all = {-1};
  all.insert(all.end(), dims.begin(), dims.end());
  const ValueId x = maker.input(all);
  maker.output(make(maker, x));
  return batching_objection(maker.graph());
}

/// One operator on x and perhaps constants.
std::string of_one(const Ints& dims, std::string_view op, const Attributes& attributes = {},
                   const std::vector<Tensor>& constants = {}, int opset = 17) {
  return objection(dims, [&](GraphMaker& maker, ValueId x) {
    std::vector<ValueId> inputs = {x};
    for (const Tensor& tensor : constants) inputs.push_back(maker.constant(tensor));
    return maker.node(op, inputs, attributes, opset);
  });
}

Tensor floats(const tensor::Shape& shape) {
  return Tensor::of<float>(shape,
                           std::vector<float>(static_cast<std::size_t>(shape.elements()), 1));
}
Tensor list(const Ints& values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

constexpr const char* kAlong = "works along the rows of a batch";

TEST(Batching, ElementwiseWithWhatIsTheSameForAllRows) {
  EXPECT_EQ(of_one({3}, "Relu"), "");
  EXPECT_EQ(of_one({3}, "Add", {}, {floats({3})}), "");
  EXPECT_EQ(of_one({3}, "Add", {}, {floats({1, 3})}), "");
  EXPECT_EQ(of_one({3}, "Add", {}, {floats({})}), "");
  EXPECT_THAT(of_one({3}, "Add", {}, {floats({5, 3})}), HasSubstr("across the rows"));
  EXPECT_THAT(of_one({3}, "Add", {}, {floats({2, 1, 3})}), HasSubstr("across the rows"));
  EXPECT_THAT(of_one({}, "Add", {}, {floats({1, 1})}), HasSubstr("across the rows"));
  EXPECT_EQ(of_one({}, "Mul", {}, {floats({1})}), "");
  const Attributes old = with({{"broadcast", number(1)}, {"axis", number(0)}});
  EXPECT_THAT(of_one({3}, "Add", old, {floats({5})}, 6), HasSubstr("node 'Add_0' (Add) "));
}

TEST(Batching, TwoValuesOfTheBatch) {
  EXPECT_EQ(objection({3},
                      [](GraphMaker& m, ValueId x) {
                        return m.node("Add", {x, m.node("Exp", {x})});
                      }),
            "");
  EXPECT_THAT(objection({4},
                        [](GraphMaker& m, ValueId x) {  // [N] laid over [N,4]: across the rows
                          const ValueId sums = m.node(
                              "ReduceMax", {x}, with({{"axes", Ints{1}}, {"keepdims", number(0)}}));
                          return m.node("Sub", {x, sums});
                        }),
              HasSubstr("(Sub) "));
}

TEST(Batching, AlongAnAxis) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    EXPECT_EQ(of_one({3, 4}, op), "") << op;
    EXPECT_EQ(of_one({3, 4}, op, axis(1)), "") << op;
    EXPECT_THAT(of_one({3, 4}, op, axis(0)), HasSubstr(kAlong)) << op;
    EXPECT_THAT(of_one({3, 4}, op, axis(-3)), HasSubstr(kAlong)) << op;
    EXPECT_EQ(of_one({3, 4}, op, {}, {}, 11), "") << op;
    EXPECT_THAT(of_one({}, op), HasSubstr(kAlong)) << op << " of rows that are numbers";
  }
  EXPECT_EQ(of_one({3}, "ArgMax", axis(1)), "");
  EXPECT_THAT(of_one({3}, "ArgMax"), HasSubstr(kAlong)) << "axis 0 is the default";
  EXPECT_EQ(of_one({3}, "TopK", {}, {list({2})}), "");
  EXPECT_THAT(of_one({3}, "TopK", axis(0), {list({1})}), HasSubstr(kAlong));
  EXPECT_EQ(of_one({6}, "LayerNormalization", {}, {floats({6})}), "");
  EXPECT_THAT(of_one({6}, "LayerNormalization", axis(0), {floats({1, 6})}), HasSubstr(kAlong));
}

TEST(Batching, Reductions) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceLogSumExp"}) {
    const int opset = 18;
    EXPECT_EQ(of_one({3, 4}, op, {}, {list({1, -1})}, opset), "") << op;
    EXPECT_THAT(of_one({3, 4}, op, {}, {list({2, 0})}, opset), HasSubstr(kAlong)) << op;
    EXPECT_THAT(of_one({3, 4}, op, {}, {list({-3})}, opset), HasSubstr(kAlong)) << op;
    EXPECT_THAT(of_one({3, 4}, op, {}, {}, opset), HasSubstr(kAlong)) << op << " of everything";
    const Attributes nothing = with({{"noop_with_empty_axes", number(1)}});
    EXPECT_EQ(of_one({3, 4}, op, nothing, {}, opset), "") << op;
  }
  EXPECT_EQ(of_one({3}, "ReduceProd", with({{"axes", Ints{1}}})), "");
  EXPECT_THAT(of_one({3}, "ReduceProd", with({{"axes", Ints{0}}})), HasSubstr(kAlong));
}

TEST(Batching, Layers) {
  EXPECT_EQ(of_one({3, 8, 8}, "Conv", {}, {floats({4, 3, 3, 3}), floats({4})}), "");
  EXPECT_EQ(of_one({4, 8, 8}, "ConvTranspose", {}, {floats({4, 3, 3, 3})}), "");
  EXPECT_EQ(of_one({3, 8, 8}, "MaxPool", with({{"kernel_shape", Ints{2, 2}}})), "");
  EXPECT_EQ(of_one({3, 8, 8}, "GlobalAveragePool"), "");
  const Tensor c = floats({3});
  EXPECT_EQ(of_one({3, 8}, "BatchNormalization", {}, {c, c, c, c}), "");
  EXPECT_EQ(of_one({3, 8}, "InstanceNormalization", {}, {c, c}), "");
  EXPECT_EQ(of_one({3, 8}, "LRN", with({{"size", number(3)}})), "");
  const Tensor scales = Tensor::of<float>({3}, std::array{1.0f, 2.0f, 2.0f});
  EXPECT_EQ(of_one({3, 8}, "Upsample", {}, {scales}, 9), "");
  const Tensor stretch = Tensor::of<float>({3}, std::array{1.05f, 2.0f, 2.0f});
  EXPECT_THAT(of_one({3, 8}, "Upsample", {}, {stretch}, 9), HasSubstr("resizes the rows"));
  EXPECT_THAT(objection({3, 8, 8},  // weights that come from the batch
                        [](GraphMaker& m, ValueId x) {
                          return m.node("Conv", {x, x});
                        }),
              HasSubstr("(Conv) "));
  EXPECT_THAT(
      objection({3, 8, 8},
                [](GraphMaker& m, ValueId x) {
                  return m.node_of("MaxPool", {x}, with({{"kernel_shape", Ints{2, 2}}}), 17, 2)[1];
                }),
      HasSubstr("count through the whole batch"));
}

TEST(Batching, Products) {
  EXPECT_EQ(of_one({5}, "Gemm", {}, {floats({5, 4}), floats({4})}), "");
  EXPECT_EQ(of_one({5}, "Gemm", {}, {floats({5, 4}), floats({1, 4})}), "");
  EXPECT_THAT(of_one({5}, "Gemm", with({{"transA", number(1)}}), {floats({1, 4})}),
              HasSubstr("(Gemm) "));
  EXPECT_EQ(of_one({5}, "MatMul", {}, {floats({5, 4})}), "");
  EXPECT_EQ(of_one({2, 5}, "MatMul", {}, {floats({5})}), "");
  EXPECT_EQ(of_one({2, 3, 5}, "MatMul", {}, {floats({2, 5, 4})}), "");
  EXPECT_EQ(of_one({2, 3, 5}, "MatMul", {}, {floats({1, 2, 5, 4})}), "");
  EXPECT_THAT(of_one({5}, "MatMul", {}, {floats({2, 5, 4})}), HasSubstr("(MatMul) "))
      << "the other side's batch comes first";
  EXPECT_THAT(of_one({}, "MatMul", {}, {floats({1, 4})}), HasSubstr("(MatMul) "));
  const auto attention = [](GraphMaker& m, ValueId x) {
    const ValueId turned = m.node("Transpose", {x}, with({{"perm", Ints{0, 2, 1}}}));
    return m.node("MatMul", {m.node("Softmax", {m.node("MatMul", {x, turned})}), x});
  };
  EXPECT_EQ(objection({3, 4}, attention), "");
  EXPECT_THAT(objection({4},
                        [](GraphMaker& m, ValueId x) {
                          return m.node("MatMul", {x, m.node("Transpose", {x})});
                        }),
              HasSubstr("(Transpose) moves the rows"));
}

TEST(Batching, Quantised) {
  EXPECT_THAT(objection({5},
                        [](GraphMaker& m, ValueId x) {
                          return m.node_of("DynamicQuantizeLinear", {x}, {}, 17, 3)[0];
                        }),
              HasSubstr("node 'DynamicQuantizeLinear_0' (DynamicQuantizeLinear) may mix the rows"))
      << "its scale is that of all rows";
  EXPECT_EQ(of_one({5}, "QuantizeLinear", {}, {floats({})}), "");
  EXPECT_EQ(of_one({5}, "QuantizeLinear", axis(1), {floats({5})}), "");
  EXPECT_THAT(of_one({5}, "QuantizeLinear", axis(0), {floats({2})}), HasSubstr("QuantizeLinear"));
}

TEST(Batching, Movement) {
  EXPECT_EQ(of_one({3, 4}, "Transpose", with({{"perm", Ints{0, 2, 1}}})), "");
  EXPECT_THAT(of_one({3, 4}, "Transpose", with({{"perm", Ints{1, 0, 2}}})), HasSubstr("moves"));
  EXPECT_THAT(of_one({3, 4}, "Transpose"), HasSubstr("moves"));
  EXPECT_EQ(of_one({3, 4}, "Flatten"), "");
  EXPECT_THAT(of_one({3, 4}, "Flatten", axis(0)), HasSubstr("side by side"));
  EXPECT_THAT(of_one({3, 4}, "Flatten", axis(2)), HasSubstr("gives float32[3,4] for 1 rows"));
  EXPECT_EQ(of_one({1, 4}, "Squeeze", {}, {list({1})}), "");
  EXPECT_THAT(of_one({1, 4}, "Squeeze"), HasSubstr("would squeeze a batch of one row"));
  EXPECT_EQ(of_one({4}, "Unsqueeze", {}, {list({1, -1})}), "");
  EXPECT_THAT(of_one({4}, "Unsqueeze", {}, {list({0})}), HasSubstr("moves"));
  EXPECT_EQ(of_one({4}, "Slice", {}, {list({1}), list({3}), list({1})}), "");
  EXPECT_THAT(of_one({4}, "Slice", {}, {list({0}), list({9}), list({0})}), HasSubstr("cuts"));
  EXPECT_THAT(of_one({4}, "Slice", {}, {list({0}), list({9})}), HasSubstr("cuts"));
  EXPECT_EQ(of_one({4}, "Pad", {}, {list({0, 1, 0, 2})}), "");
  EXPECT_THAT(of_one({4}, "Pad", {}, {list({0, 1, 1, 2})}), HasSubstr("pads the rows"));
  EXPECT_EQ(of_one({4}, "Tile", {}, {list({1, 3})}), "");
  EXPECT_THAT(of_one({4}, "Tile", {}, {list({2, 1})}), HasSubstr("repeats rows"));
  EXPECT_EQ(of_one({4}, "Gather", axis(1), {list({0, 2})}), "");
  EXPECT_THAT(of_one({4}, "Gather", axis(0), {list({0})}), HasSubstr("picks rows"));
  EXPECT_EQ(of_one({4, 3, 3}, "DepthToSpace", with({{"blocksize", number(2)}})), "");
  EXPECT_THAT(of_one({4}, "Compress", axis(1),
                     {Tensor::copy_of({DType::kBool, {2}}, std::vector<std::uint8_t>{1, 0})}),
              HasSubstr("may mix"));
  EXPECT_THAT(of_one({4}, "NonZero"), HasSubstr("may mix the rows of a batch"));
}

TEST(Batching, Concat) {
  const auto joined = [](std::int64_t at, bool with_constant) {
    return objection({4}, [&](GraphMaker& m, ValueId x) {
      return m.node("Concat", {x, with_constant ? m.floats({1, 4}) : m.node("Exp", {x})}, axis(at));
    });
  };
  EXPECT_EQ(joined(1, false), "");
  EXPECT_THAT(joined(0, false), HasSubstr(kAlong));
  EXPECT_THAT(joined(1, true), HasSubstr("has no rows"));
}

TEST(Batching, ReshapeByConstants) {
  EXPECT_EQ(of_one({3, 4}, "Reshape", {}, {list({-1, 12})}), "");
  EXPECT_EQ(of_one({3, 4}, "Reshape", {}, {list({0, -1})}), "");
  EXPECT_EQ(of_one({3, 4}, "Reshape", {}, {list({0, 4, 3})}), "");
  EXPECT_THAT(of_one({3, 4}, "Reshape", {}, {list({-1, 4})}), HasSubstr("gives float32[3,4] for 1"))
      << "merges axis 0";
  EXPECT_THAT(of_one({3, 4}, "Reshape", {}, {list({1, -1})}), HasSubstr("whatever the number"));
  EXPECT_THAT(of_one({3, 4}, "Reshape", {}, {list({12, -1})}), HasSubstr("whatever the number"));
}

// As PyTorch exports x.view(x.size(0), ...): by Shape, Gather, Unsqueeze and Concat.
TEST(Batching, ReshapeByTheNumberOfRows) {
  const auto by_size = [](std::int64_t picked, bool first, bool computed) {
    return objection({3, 4}, [&](GraphMaker& m, ValueId x) {
      const ValueId index = m.constant(Tensor::of<std::int64_t>({}, std::span(&picked, 1)));
      ValueId size = m.node("Gather", {m.node("Shape", {x}), index});
      if (computed)
        size = m.node("Mul", {size, m.constant(list({1}))});
      else
        size = m.node("Unsqueeze", {size, m.integers({0})});
      const ValueId rest = m.integers({-1});
      const auto dims = first ? std::vector{size, rest} : std::vector{rest, size};
      return m.node("Reshape", {x, m.node("Concat", dims, axis(0))});
    });
  };
  EXPECT_EQ(by_size(0, true, false), "");
  EXPECT_THAT(by_size(0, false, false), HasSubstr("moves the rows to another axis"));
  EXPECT_THAT(by_size(0, true, true), HasSubstr("depends on the number of rows"));
  EXPECT_THAT(by_size(1, true, false), HasSubstr("whatever the number of rows"));
  EXPECT_THAT(by_size(1, false, false), HasSubstr("gives float32[4,3] for 1 rows"));
}

TEST(Batching, WhatIsComputedFromTheNumberOfRows) {
  EXPECT_THAT(
      objection(
          {4},
          [](GraphMaker& m, ValueId x) {  // x * N
            const ValueId n = m.node("Cast", {m.node("Size", {x})}, with({{"to", number(1)}}));
            return m.node("Mul", {x, n});
          }),
      HasSubstr("depends on the number of rows"));
  EXPECT_EQ(
      objection({4},
                [](GraphMaker& m, ValueId x) {  // x * 4
                  const ValueId dims = m.node("Shape", {x}, with({{"start", number(1)}}));
                  return m.node("Mul", {x, m.node("Cast", {dims}, with({{"to", number(1)}}))});
                }),
      "");
  EXPECT_THAT(objection({4},
                        [](GraphMaker& m, ValueId x) {
                          const ValueId zeros = m.node("ConstantOfShape", {m.node("Shape", {x})});
                          return m.node("Add", {x, zeros});
                        }),
              HasSubstr("depends on the number of rows"));
}

TEST(Batching, EmbeddingsAreLookedUpByRow) {
  const auto lookup = [](std::int64_t at) {
    GraphMaker m;
    const ValueId words = m.input({-1, 6}, DType::kInt64);
    m.output(m.node("Gather", {m.floats({10, 3}), words}, axis(at)));
    return batching_objection(m.graph());
  };
  EXPECT_EQ(lookup(0), "");
  EXPECT_THAT(lookup(1), HasSubstr("moves the rows"));
}

TEST(Batching, InputsAndOutputs) {
  const auto of_input = [](const Ints& dims) {
    GraphMaker m;
    m.output(m.node("Relu", {m.input(dims)}));
    return batching_objection(m.graph());
  };
  EXPECT_EQ(of_input({-1}), "");
  EXPECT_EQ(of_input({}), "input 'x0' is float32[]: it has no rows");
  EXPECT_EQ(of_input({1, 3}), "input 'x0' is float32[1,3]: the number of rows is fixed");
  EXPECT_THAT(of_input({-1, 3, -1}), HasSubstr("more than the number of rows is free"));
  GraphMaker m;
  const ValueId x = m.input({-1, 3, -1});
  m.output(m.node("Relu", {x}));
  const tensor::TensorType request{DType::kFloat32, {1, 3, 7}};
  EXPECT_EQ(batching_objection(m.graph(), std::span(&request, 1)), "");
  m.output(m.node("Identity", {m.floats({1, 3})}));
  EXPECT_THAT(batching_objection(m.graph(), std::span(&request, 1)),
              HasSubstr("does not have a row for each row"));
  EXPECT_EQ(batching_objection(m.graph(), {}), "0 inputs, expected 1");
}

TEST(Batching, RulesNameOperatorsOfTheTable) {
  int rules = 0;
  for (const kernels::Operator& row : kernels::model_operators()) {
    if (row.batching.rule != nullptr) ++rules;
  }
  EXPECT_GE(rules, 100) << "rows of the table that have a rule";
}

TEST(Batching, TheDigitNetwork) {
  const std::string path = std::string(COMMENSAL_SOURCE_DIR) + "/models/digits/digits.onnx";
  const auto imported = onnx::import_file(path);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(batching_objection(**imported), "");
}

TEST(Batching, ClassicNetworks) {
  const char* folder = std::getenv("COMMENSAL_MODELS");
  if (folder == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS is not set";
  for (const char* name : {"alexnet", "resnet18", "squeezenet"}) {
    const auto imported = onnx::import_file(fmt::format("{}/{}.onnx", folder, name));
    if (!imported) GTEST_SKIP() << imported.error().message;
    const Graph& graph = **imported;
    const tensor::TensorType request{DType::kFloat32, {1, 3, 224, 224}};
    EXPECT_EQ(batching_objection(graph, std::span(&request, 1)), "") << name;
  }
}

}  // namespace
}  // namespace commensal::graph::onnx
