// SPDX-License-Identifier: Apache-2.0
// Whatever a model calls its weights, and wherever it keeps them, they are trained and exported.
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/train/segment.hpp>
#include <commensal/compute/train/testing/small_training.hpp>

namespace commensal::train {
namespace {

using testing::SmallTraining;

/// The small model, as `change` makes it.
SmallTraining changed(const std::function<void(::onnx::GraphProto&)>& change) {
  SmallTraining training("steps: 4\n");
  ::onnx::ModelProto model;
  const core::Bytes small = testing::small_model();
  EXPECT_TRUE(model.ParseFromArray(small.data(), static_cast<int>(small.size())));
  change(*model.mutable_graph());
  const std::string text = model.SerializeAsString();
  training.write("model.onnx", core::as_bytes(text));
  return training;
}

// The fault: it was trained, and then "the model's file has no initialiser 'conv.b'".
TEST(ExportedTraining, HasABiasThatAConstantOfFloatsMakes) {
  const SmallTraining plain("steps: 4\n");
  const SmallTraining training = changed([](::onnx::GraphProto& graph) {
    ::onnx::NodeProto constant;
    constant.set_op_type("Constant");
    constant.add_output("conv.b");
    auto& value = *constant.add_attribute();
    value.set_name("value_floats");
    value.set_type(::onnx::AttributeProto::FLOATS);
    for (int i = 0; i < graph.initializer_size(); ++i) {
      if (graph.initializer(i).name() != "conv.b") continue;
      for (const float one : graph.initializer(i).float_data()) value.add_floats(one);
      graph.mutable_initializer()->DeleteSubrange(i, 1);
      break;
    }
    *graph.add_node() = std::move(constant);
    for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
  });
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  EXPECT_EQ(run(*trainer, 4), "");
  EXPECT_EQ(core::to_hex(trainer->weights_digest()), digest_after(plain, 4));
  const auto exported = trainer->exported();
  ASSERT_TRUE(exported) << exported.error().message;
  const auto bytes = std::make_shared<const core::Bytes>(*exported);
  EXPECT_TRUE(graph::onnx::import_bytes(*bytes, bytes));
  // What is trained on from there begins with what was exported.
  SmallTraining more("steps: 4\n");
  more.write("model.onnx", *exported);
  EXPECT_EQ(digest_after(more, 0), digest_after(plain, 4));
}

// The fault: "defined twice", as W.next is what W becomes.
TEST(ExportedTraining, ASegmentTakesWeightsOfAnyName) {
  const SmallTraining training = changed([](::onnx::GraphProto& graph) {
    const auto rename = [](std::string* name) {
      if (*name == "fc.w") *name = "W";
      if (*name == "conv.w") *name = "W.next";
    };
    for (auto& one : *graph.mutable_initializer()) rename(one.mutable_name());
    for (auto& node : *graph.mutable_node()) {
      for (auto& input : *node.mutable_input()) rename(&input);
    }
  });
  auto trainer = trainer_of(training);
  ASSERT_TRUE(trainer) << trainer.error().message;
  const auto segment = make_segment(*trainer, 2);
  ASSERT_TRUE(segment) << segment.error().message;
  const auto bytes = std::make_shared<const core::Bytes>(segment->model);
  const auto imported = graph::onnx::import_bytes(*bytes, bytes);
  EXPECT_TRUE(imported) << imported.error().message;
}

}  // namespace
}  // namespace commensal::train
