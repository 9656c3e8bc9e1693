// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/onnx/testing/model_maker.hpp>

namespace commensal::graph::onnx::testing {
namespace {

using core::ErrorCode;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_refused(const core::Result<std::shared_ptr<const Graph>>& made, ErrorCode code,
                    const std::string& says) {
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(core::name_of(made.error().code), core::name_of(code)) << made.error().message;
  EXPECT_THAT(made.error().message, HasSubstr(says));
  EXPECT_THAT(made.error().message, Not(HasSubstr("\n")));
  EXPECT_LT(made.error().message.size(), 600u);
}

TEST(Import, ReadsNodesInputsAndOutputs) {
  const auto graph = import_model(relu_model());
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ((*graph)->nodes.size(), 1u);
  EXPECT_EQ((*graph)->nodes[0].name, "Relu_0");
  EXPECT_EQ((*graph)->nodes[0].opset, 13);
  ASSERT_EQ((*graph)->inputs.size(), 1u);
  const ValueInfo& x = (*graph)->values[static_cast<std::size_t>((*graph)->inputs[0])];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.declared.text(), "float32[2,3]");
  EXPECT_EQ((*graph)->name_of((*graph)->outputs[0]), "y");
}

TEST(Import, KeepsSymbolsOfFreeDimensions) {
  auto model = relu_model();
  auto* shape = model.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("N");
  shape->mutable_dim(1)->clear_dim_value();
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  const Declared& declared =
      (*graph)->values[static_cast<std::size_t>((*graph)->inputs[0])].declared;
  EXPECT_EQ(declared.text(), "float32[-1,-1]");
  EXPECT_TRUE(declared.admits({tensor::DType::kFloat32, {5, 7}}));
  EXPECT_FALSE(declared.admits({tensor::DType::kFloat32, {5}}));
  EXPECT_FALSE(declared.admits({tensor::DType::kFloat64, {5, 7}}));
}

// Exporters leave shapes out that they do not know; the checker wants one.
TEST(Import, TakesInputsAndOutputsOfAnyShape) {
  auto model = relu_model();
  model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  for (const ValueInfo& value : (*graph)->values) EXPECT_FALSE(value.declared.ranked);
}

TEST(Import, ViewsAlignedInitialisersInPlace) {
  auto model = empty_model();
  add_node(model, "Add", {"x", "w"}, {"y"});
  const float values[] = {1, 2, 3};
  add_initialiser(model, "w", {3})->set_raw_data(values, sizeof values);
  // The place of raw_data depends on what comes before it: one of four lengths aligns it.
  int views = 0;
  for (int padding = 0; padding < 4; ++padding) {
    model.mutable_graph()->set_name(std::string(static_cast<std::size_t>(padding) + 1, 'g'));
    const auto owner = std::make_shared<const std::string>(model.SerializeAsString());
    const auto graph = import_bytes(core::as_bytes(*owner), owner);
    ASSERT_TRUE(graph) << graph.error().message;
    const tensor::Tensor& w = (*graph)->initialisers.begin()->second;
    EXPECT_THAT(w.data<float>(), ::testing::ElementsAre(1, 2, 3));
    const auto* at = reinterpret_cast<const char*>(w.bytes().data());
    views += at >= owner->data() && at < owner->data() + owner->size();
  }
  EXPECT_GE(views, 1);
  EXPECT_LT(views, 4);
}

TEST(Import, ReadsEveryTypedField) {
  auto model = relu_model();
  add_initialiser(model, "f", {2})->add_float_data(1.5f);
  model.mutable_graph()->mutable_initializer(0)->add_float_data(-2);
  add_initialiser(model, "h", {1}, ::onnx::TensorProto::FLOAT16)->add_int32_data(0x3c00);
  add_initialiser(model, "b", {1}, ::onnx::TensorProto::BOOL)->add_int32_data(1);
  add_initialiser(model, "i8", {1}, ::onnx::TensorProto::INT8)->add_int32_data(-5);
  add_initialiser(model, "i64", {}, ::onnx::TensorProto::INT64)->add_int64_data(-7);
  add_initialiser(model, "u32", {1}, ::onnx::TensorProto::UINT32)->add_uint64_data(4000000000u);
  add_initialiser(model, "d", {1}, ::onnx::TensorProto::DOUBLE)->add_double_data(0.1);
  add_initialiser(model, "s", {1}, ::onnx::TensorProto::STRING)->add_string_data("word");
  add_initialiser(model, "none", {0, 4});
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  std::map<std::string, tensor::Tensor> by_name;
  for (const auto& [id, value] : (*graph)->initialisers) by_name[(*graph)->name_of(id)] = value;
  EXPECT_THAT(by_name["f"].data<float>(), ::testing::ElementsAre(1.5f, -2.0f));
  EXPECT_EQ(by_name["h"].data<tensor::Float16>()[0].bits, 0x3c00);
  EXPECT_TRUE(by_name["b"].data<bool>()[0]);
  EXPECT_EQ(by_name["i8"].data<std::int8_t>()[0], -5);
  EXPECT_EQ(by_name["i64"].data<std::int64_t>()[0], -7);
  EXPECT_EQ(by_name["u32"].data<std::uint32_t>()[0], 4000000000u);
  EXPECT_EQ(by_name["d"].data<double>()[0], 0.1);
  EXPECT_EQ(by_name["s"].strings()[0], "word");
  EXPECT_EQ(by_name["none"].elements(), 0);
}

// Two to a byte in a file, the first one in the low half; one to a byte in memory.
TEST(Import, UnpacksElementsOfFourBits) {
  for (const auto dtype :
       {tensor::DType::kUint4, tensor::DType::kInt4, tensor::DType::kFloat4E2M1}) {
    auto model = relu_model(24);
    const int number = static_cast<int>(dtype);
    add_initialiser(model, "raw", {3}, number)->set_raw_data("\x7f\x09");
    auto* typed = add_initialiser(model, "typed", {3}, number);
    for (const int byte : {0x7f, 0x09}) typed->add_int32_data(byte);
    const auto graph = import_model(model);
    ASSERT_TRUE(graph) << graph.error().message;
    for (const auto& [id, value] : (*graph)->initialisers) {
      EXPECT_EQ(value.dtype(), dtype);
      EXPECT_THAT(value.bytes(), ::testing::ElementsAre(15, 7, 9));
    }
    typed->add_int32_data(0);
    expect_refused(import_model(model), ErrorCode::kInvalidArgument, "needs 2 bytes");
  }
}

TEST(Import, TurnsConstantsIntoInitialisers) {
  auto model = empty_model();
  auto* constant = add_node(model, "Constant", {}, {"w"});
  auto* attribute = constant->add_attribute();
  attribute->set_name("value_floats");
  attribute->set_type(::onnx::AttributeProto::FLOATS);
  for (const float value : {1.0f, 2.0f, 3.0f}) attribute->add_floats(value);
  add_node(model, "Add", {"x", "w"}, {"y"});
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ((*graph)->nodes.size(), 1u);
  EXPECT_THAT((*graph)->initialisers.begin()->second.data<float>(),
              ::testing::ElementsAre(1, 2, 3));
}

TEST(Import, TakesInitialisersThatAreInputsToo) {
  auto model = empty_model();
  model.set_ir_version(3);
  add_node(model, "Add", {"x", "w"}, {"y"});
  *model.mutable_graph()->add_input() = model.graph().input(0);
  model.mutable_graph()->mutable_input(1)->set_name("w");
  auto* w = add_initialiser(model, "w", {2, 3});
  for (int i = 0; i < 6; ++i) w->add_float_data(0);
  const auto graph = import_model(model);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_EQ((*graph)->inputs.size(), 1u);

  w->clear_dims();
  w->add_dims(6);
  expect_refused(import_model(model), ErrorCode::kInvalidArgument,
                 "input 'w': its initialiser is float32[6], expected float32[2,3]");
}

TEST(HostileImport, AnEmptyFileIsNamedSo) {
  const auto empty = import_bytes({}, nullptr);
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().message, "not an ONNX model: it is empty");
}

TEST(HostileImport, ATextIsNamedSo) {
  const std::pair<const char*, const char*> cases[] = {
      {"<!DOCTYPE html>\n<p>404</p>", "not an ONNX model: it is text"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
       "not an ONNX model: it is a Git LFS pointer (git lfs pull fetches the file)"},
      {"PK\x03\x04\x14",
       "not an ONNX model: it is a ZIP archive (unpack it; if PyTorch saved it, "
       "torch.onnx.export makes a model)"},
      {"\x1f\x8b\x08", "not an ONNX model: it is compressed by gzip"},
      {"<\x01", "not an ONNX model: a field of unknown kind"},
  };
  for (const auto& [text, says] : cases) {
    const auto refused = import_bytes(core::as_bytes(text), nullptr);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().message, says);
  }
}

TEST(HostileImport, EveryTruncationIsRefused) {
  auto model = empty_model();
  add_node(model, "Add", {"x", "w"}, {"y"});
  add_initialiser(model, "w", {3})->set_raw_data(std::string(12, 'a'));
  const std::string whole = model.SerializeAsString();
  ASSERT_TRUE(import_text(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto made = import_text(whole.substr(0, size));
    ASSERT_FALSE(made.has_value()) << size;
    EXPECT_THAT(made.error().message, Not(HasSubstr("\n")));
  }
}

TEST(HostileImport, NoFlippedByteCrashes) {
  auto model = empty_model();
  auto* node = add_node(model, "Add", {"x", "w"}, {"y"});
  node->set_name("sum");
  add_initialiser(model, "w", {3})->set_raw_data(std::string(12, 'a'));
  const std::string whole = model.SerializeAsString();
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const unsigned char flip : {0x01, 0x80, 0xff}) {
      std::string bent = whole;
      bent[at] = static_cast<char>(static_cast<unsigned char>(bent[at]) ^ flip);
      refused += !import_text(bent).has_value();
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(HostileImport, OpsetsOutsideTheRangeAreNamed) {
  EXPECT_TRUE(import_model(relu_model(1)).has_value());
  EXPECT_TRUE(import_model(relu_model(24)).has_value());
  expect_refused(import_model(relu_model(25)), ErrorCode::kUnsupported,
                 "opset 25 of the default domain, expected 1 to 24");
  auto model = relu_model();
  model.set_ir_version(99);
  expect_refused(import_model(model), ErrorCode::kUnsupported, "ir_version 99");
  model = relu_model();
  auto* import = model.add_opset_import();
  import->set_domain("ai.onnx.ml");
  import->set_version(5);
  EXPECT_TRUE(import_model(model).has_value());
  import->set_version(6);
  expect_refused(import_model(model), ErrorCode::kUnsupported,
                 "opset 6 of the domain ai.onnx.ml, expected 1 to 5");
}

TEST(HostileImport, UnknownOperatorsAreNamedWithTheirOpset) {
  auto model = empty_model();
  add_node(model, "Frobnicate", {"x"}, {"y"})->set_name("f");
  expect_refused(import_model(model), ErrorCode::kUnsupported, "node 'f' (Frobnicate)");
  const auto made = import_model(model);
  EXPECT_THAT(made.error().message, HasSubstr("13"));
  model.mutable_graph()->mutable_node(0)->set_domain("com.example");
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "no opset of domain");
}

TEST(HostileImport, CyclesAreNamed) {
  auto model = empty_model();
  add_node(model, "Add", {"x", "c"}, {"a"})->set_name("first");
  add_node(model, "Relu", {"a"}, {"b"})->set_name("second");
  add_node(model, "Relu", {"b"}, {"c"})->set_name("third");
  add_node(model, "Relu", {"c"}, {"y"})->set_name("behind");
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "cycle through node");
  EXPECT_THAT(import_model(model).error().message, Not(HasSubstr("behind")));
  auto self = empty_model();
  add_node(self, "Add", {"x", "y"}, {"y"});
  expect_refused(import_model(self), ErrorCode::kInvalidArgument, "cycle through node 'Add_0'");
}

TEST(HostileImport, OrderAndNamesAreChecked) {
  auto late = empty_model();
  add_node(late, "Relu", {"a"}, {"y"});
  add_node(late, "Relu", {"x"}, {"a"});
  expect_refused(import_model(late), ErrorCode::kInvalidArgument, "before it is made");

  auto undefined = empty_model();
  add_node(undefined, "Relu", {"nowhere"}, {"y"});
  expect_refused(import_model(undefined), ErrorCode::kInvalidArgument, "'nowhere'");

  auto twice = relu_model();
  add_node(twice, "Relu", {"x"}, {"y"});
  expect_refused(import_model(twice), ErrorCode::kInvalidArgument, "'y' is defined twice");

  auto unmade = empty_model();
  expect_refused(import_model(unmade), ErrorCode::kInvalidArgument, "output 'y'");

  auto unprintable = relu_model();
  unprintable.mutable_graph()->mutable_node(0)->set_name("a\nb");
  expect_refused(import_model(unprintable), ErrorCode::kInvalidArgument, "not printable");
}

TEST(HostileImport, DimensionsWithoutDataCostNothing) {
  auto huge = relu_model();
  add_initialiser(huge, "w", {1 << 20, 1 << 20});
  expect_refused(import_model(huge), ErrorCode::kInvalidArgument, "initialiser 'w'");

  auto overflow = relu_model();
  add_initialiser(overflow, "w", {1LL << 40, 1LL << 40});
  expect_refused(import_model(overflow), ErrorCode::kInvalidArgument, "initialiser 'w'");

  auto negative = relu_model();
  add_initialiser(negative, "w", {-1})->add_float_data(1);
  expect_refused(import_model(negative), ErrorCode::kInvalidArgument, "negative");

  auto deep = relu_model();
  auto* w = add_initialiser(deep, "w", std::vector<std::int64_t>(100, 1));
  w->add_float_data(1);
  expect_refused(import_model(deep), ErrorCode::kInvalidArgument, "rank 100");

  auto input = relu_model();
  input.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(1LL << 60);
  expect_refused(import_model(input), ErrorCode::kInvalidArgument, "input 'x'");
}

TEST(HostileImport, AConstantIsNoGraph) {
  auto model = empty_model();
  auto* attribute = add_node(model, "Constant", {}, {"w"})->add_attribute();
  attribute->set_name("value");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  auto* inner = attribute->mutable_g();
  inner->set_name("inner");
  auto* node = inner->add_node();
  node->set_op_type("Identity");
  node->add_input("x");
  node->add_output("o");
  inner->add_output()->set_name("o");
  add_node(model, "Add", {"x", "w"}, {"y"});
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "cannot be a graph");
}

TEST(HostileImport, ValuesMustFitTheirType) {
  auto model = relu_model();
  add_initialiser(model, "w", {1}, ::onnx::TensorProto::UINT8)->add_int32_data(300);
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "300 does not fit uint8");
  auto boolean = relu_model();
  add_initialiser(boolean, "w", {1}, ::onnx::TensorProto::BOOL)->set_raw_data("\x02");
  expect_refused(import_model(boolean), ErrorCode::kInvalidArgument, "neither 0 nor 1");
  auto text = relu_model();
  add_initialiser(text, "w", {2}, ::onnx::TensorProto::STRING)->add_string_data("a");
  expect_refused(import_model(text), ErrorCode::kInvalidArgument, "needs 2 elements, but has 1");
}

TEST(HostileImport, UnsupportedPartsAreRefusedByName) {
  auto branch = relu_model();
  auto* attribute = branch.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("body");
  attribute->set_type(::onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name("inner");
  attribute->mutable_g()->add_output()->set_name("x");
  expect_refused(import_model(branch), ErrorCode::kInvalidArgument, "attribute 'body'");

  auto sparse = relu_model();
  sparse.mutable_graph()->add_sparse_initializer();
  expect_refused(import_model(sparse), ErrorCode::kUnsupported, "sparse");

  auto map = relu_model();
  map.mutable_graph()->mutable_input(0)->mutable_type()->mutable_map_type();
  expect_refused(import_model(map), ErrorCode::kUnsupported, "input 'x'");
}

TEST(HostileImport, DeepNestingAndManyFieldsAreBounded) {
  auto model = relu_model();
  auto* inner = &model;
  auto* graph = inner->mutable_graph();
  for (int i = 0; i < 100; ++i) {
    auto* node = graph->node_size() > 0 ? graph->mutable_node(0) : graph->add_node();
    graph = node->add_attribute()->mutable_g();
  }
  graph->set_name("bottom");
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "nested deeper");

  // Two bytes a node on the wire, hundreds once parsed.
  std::string nodes;
  for (int i = 0; i < 5'000'000; ++i) nodes += std::string("\x0a\x00", 2);
  std::string text = "\x3a";
  for (std::size_t size = nodes.size(); size > 0; size >>= 7) {
    text += static_cast<char>((size & 0x7f) | (size >= 0x80 ? 0x80 : 0));
  }
  expect_refused(import_text(text + nodes), ErrorCode::kResourceExhausted, "fields");
}

TEST(HostileImport, TheCheckersWordIsOneLine) {
  auto model = relu_model();
  auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("nonsense");
  attribute->set_type(::onnx::AttributeProto::INT);
  attribute->set_i(1);
  expect_refused(import_model(model), ErrorCode::kInvalidArgument, "nonsense");
}

}  // namespace
}  // namespace commensal::graph::onnx::testing
