// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/serve/oip/model_config.hpp>
#include <nlohmann/json.hpp>

namespace commensal::oip {
namespace {

using tensor::DType;
using tensor::Tensor;
using ::testing::HasSubstr;

gateway::ModelPort port(const std::string& name, DType dtype, std::vector<std::int64_t> dims) {
  gateway::ModelPort made{.name = name, .declared = {}};
  made.declared.dtype = dtype;
  made.declared.ranked = true;
  made.declared.symbols.resize(dims.size());
  made.declared.dims = std::move(dims);
  return made;
}

core::Bytes bytes_of(std::string_view text) {
  const core::ByteView view = core::as_bytes(text);
  return {view.begin(), view.end()};
}

gateway::ServingConfig said(std::string_view text) {
  const auto config = read_config(text);
  EXPECT_TRUE(config.has_value()) << config.error().message;
  return {.config = bytes_of(config.value_or("")), .override = {}, .files = {}};
}

/// INPUT and OUTPUT [N,16], of whole numbers.
gateway::ModelVersion rows() {
  gateway::ModelVersion model;
  model.name = "a/rows";
  model.version = 1;
  model.inputs = {port("INPUT", DType::kInt32, {-1, 16})};
  model.outputs = {port("OUTPUT", DType::kInt32, {-1, 16})};
  return model;
}

gateway::ModelVersion picture() {
  gateway::ModelVersion model;
  model.name = "a/picture";
  model.version = 1;
  model.inputs = {port("data", DType::kFloat32, {1, 3, 2, 2})};
  model.outputs = {port("classes", DType::kFloat32, {1, 5, 1, 1})};
  return model;
}

gateway::ModelVersion sequence() {
  gateway::ModelVersion model;
  model.name = "a/sequence";
  model.version = 1;
  model.inputs = {port("INPUT", DType::kInt32, {-1, 1}), port("START", DType::kInt32, {-1, 1}),
                  port("ID", DType::kUint64, {-1, 1})};
  model.outputs = {port("OUTPUT", DType::kInt32, {-1, 1})};
  return model;
}

constexpr std::string_view kSequence = R"(
max_batch_size: 8
sequence_batching {
  control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [0, 7] } }
  control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
})";

constexpr std::string_view kPicture = R"({
  "input": [{"name": "data", "dims": [3, 2, 2], "format": "FORMAT_NCHW",
             "reshape": {"shape": [1, 3, 2, 2]}}],
  "output": [{"name": "classes", "dims": [5], "reshape": {"shape": [1, 5, 1, 1]},
              "label_filename": "labels.txt"}]})";

tensor::NamedTensors numbers(const std::string& name, std::vector<std::int64_t> dims) {
  const auto shape = *tensor::Shape::of(dims);
  return {{name, Tensor::of<std::int32_t>(shape, std::vector<std::int32_t>(
                                                     static_cast<std::size_t>(shape.elements())))}};
}

TEST(ReadConfig, RefusesWhatItWouldIgnore) {
  const auto refusal = [](std::string_view text) {
    const auto read = read_config(text);
    return read ? "accepted: " + *read : read.error().message;
  };
  const auto is_unsupported = [](std::string_view text) {
    const auto read = read_config(text);
    return !read && read.error().code == core::ErrorCode::kUnsupported;
  };
  for (const char* text :
       {"version_policy { specific { versions: 99 } }", "response_cache { enable: true }",
        "model_transaction_policy { decoupled: true }", "input { name: 'x' optional: true }",
        "input { name: 'x' is_shape_tensor: true }", "output { name: 'x' is_shape_tensor: true }",
        "sequence_batching { oldest { max_candidate_sequences: 4 } }"}) {
    EXPECT_TRUE(is_unsupported(text)) << refusal(text);
  }
  EXPECT_FALSE(is_unsupported("response_cache { enable: false }"));
  // Numbers that no enum has: proto3 keeps them.
  EXPECT_EQ(refusal("sequence_batching { control_input { name: 'x' control { kind: 7 } } }"),
            "kind is 7, which no Kind is");
  EXPECT_EQ(refusal(R"({"input": [{"name": "x", "data_type": 99}]})"),
            "data_type is 99, which no DataType is");
  // It is written out whole for whoever asks.
  std::string many = R"({"instance_group":[{})";
  for (int i = 0; i < 5'000; ++i) many += ",{}";
  EXPECT_THAT(refusal(many + "]}"), HasSubstr("more than 2048 values, at instance_group"));
}

TEST(ModelConfig, FollowsFromTheModelWhereNothingIsSaid) {
  const auto config = config_of(rows(), {});
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->batch_max, 0);
  EXPECT_EQ(config->inputs[0].dims, (std::vector<std::int64_t>{-1, 16}));
  const auto json = nlohmann::json::parse(config->json);
  EXPECT_EQ(json["name"], "a/rows");
  EXPECT_EQ(json["max_batch_size"], 0);
  EXPECT_EQ(json["input"][0]["data_type"], "TYPE_INT32");
  EXPECT_EQ(json["input"][0]["dims"], nlohmann::json({-1, 16}));
}

TEST(ModelConfig, LeavesTheBatchOutWhereItIsCounted) {
  for (const std::string_view text : {"max_batch_size: 8", R"({"max_batch_size": "8"})"}) {
    const auto config = config_of(rows(), said(text));
    ASSERT_TRUE(config.has_value());
    EXPECT_EQ(config->batch_max, 8);
    EXPECT_EQ(config->inputs[0].dims, (std::vector<std::int64_t>{16}));
  }
}

TEST(ModelConfig, WhatItIsLoadedWithHoldsBeforeWhatIsKept) {
  gateway::ServingConfig config = said("max_batch_size: 8");
  config.override = said(R"({"max_batch_size":"16"})").config;
  EXPECT_EQ(config_of(rows(), config)->batch_max, 16);
}

TEST(ModelConfig, SaysWhereATextIsWrong) {
  const auto error = [](std::string_view text) { return read_config(text).error().message; };
  EXPECT_THAT(error("max_batch_size: 8\nmax_batch: 9"), HasSubstr("line 2, column 10"));
  EXPECT_THAT(error("{\"max_batch_size\": 8,\n ]"), HasSubstr("line 2, column 2"));
  EXPECT_THAT(error(R"({"ensemble_scheduling": {}})"), HasSubstr("ensemble_scheduling"));
  EXPECT_THAT(error(R"("parameters": {"config": {{"max_batch_size": "16"}}})"),
              HasSubstr("line 1"));
  EXPECT_THAT(error("max_batch_size: -1"), HasSubstr("0 or more"));
}

TEST(ModelConfig, SaysWhatDoesNotFitTheModel) {
  const auto error = [](const gateway::ModelVersion& model, std::string_view text) {
    return config_of(model, said(text)).error().message;
  };
  EXPECT_THAT(error(picture(), "max_batch_size: 4"), HasSubstr("first dimension of 'data'"));
  EXPECT_THAT(error(rows(), R"(input { name: "OTHER" })"), HasSubstr("input 'OTHER'"));
  EXPECT_THAT(error(rows(), R"(input { name: "INPUT" data_type: TYPE_FP32 })"),
              HasSubstr("TYPE_FP32, the model has TYPE_INT32"));
  EXPECT_THAT(error(rows(), R"(input { name: "INPUT" dims: [-1, 15] })"), HasSubstr("[-1,15]"));
  EXPECT_THAT(error(picture(), kPicture), HasSubstr("labels.txt"));
  EXPECT_THAT(error(rows(), R"(sequence_batching { control_input { name: "X" } })"),
              HasSubstr("control_input 'X'"));
}

TEST(ModelConfig, ReshapesBothWaysAndHasLabels) {
  gateway::ServingConfig files = said(kPicture);
  files.files.push_back({"labels.txt", bytes_of("cat\ndog\r\nbird\n")});
  const auto config = config_of(picture(), files);
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->outputs[0].labels, (std::vector<std::string>{"cat", "dog", "bird"}));
  tensor::NamedTensors inputs = {{"data", Tensor::of<float>({3, 2, 2}, std::vector<float>(12))}};
  ASSERT_TRUE(fit_inputs(*config, "p", {}, inputs));
  EXPECT_EQ(inputs[0].value.shape(), tensor::Shape({1, 3, 2, 2}));
  tensor::NamedTensors outputs = {
      {"classes", Tensor::of<float>({1, 5, 1, 1}, std::vector<float>(5))}};
  fit_outputs(*config, outputs);
  EXPECT_EQ(outputs[0].value.shape(), tensor::Shape({5}));
  inputs = {{"data", Tensor::of<float>({3, 4}, std::vector<float>(12))}};
  EXPECT_THAT(fit_inputs(*config, "p", {}, inputs).error().message,
              HasSubstr("unexpected shape for input 'data' for model 'p'. Expected [3,2,2], got "
                        "[3,4]"));
}

TEST(ModelConfig, HoldsBatchesToTheirBound) {
  const auto config = config_of(rows(), said("max_batch_size: 8"));
  tensor::NamedTensors inputs = numbers("INPUT", {8, 16});
  EXPECT_TRUE(fit_inputs(*config, "m", {}, inputs));
  inputs = numbers("INPUT", {9, 16});
  EXPECT_EQ(fit_inputs(*config, "m", {}, inputs).error().message,
            "inference request batch-size must be <= 8 for 'm'");
  inputs = numbers("INPUT", {16});
  EXPECT_FALSE(fit_inputs(*config, "m", {}, inputs));
}

TEST(ModelConfig, MakesTheInputsThatTellOfASequence) {
  const auto config = config_of(sequence(), said(kSequence));
  ASSERT_TRUE(config.has_value()) << config.error().message;
  EXPECT_EQ(config->inputs.size(), 1u);  // a client sends INPUT alone
  tensor::NamedTensors inputs = numbers("INPUT", {2, 1});
  ASSERT_TRUE(fit_inputs(*config, "m", {.id = "1001", .is_start = true}, inputs));
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(inputs[1].name, "START");
  EXPECT_EQ(inputs[1].value.shape(), tensor::Shape({2, 1}));
  EXPECT_EQ(inputs[1].value.data<std::int32_t>()[1], 7);
  EXPECT_EQ(inputs[2].value.data<std::uint64_t>()[1], 1001u);
  inputs = numbers("INPUT", {1, 1});
  ASSERT_TRUE(fit_inputs(*config, "m", {.id = "1001"}, inputs));
  EXPECT_EQ(inputs[1].value.data<std::int32_t>()[0], 0);
  inputs = numbers("INPUT", {1, 1});
  EXPECT_THAT(fit_inputs(*config, "m", {}, inputs).error().message,
              HasSubstr("must specify a non-zero or non-empty correlation ID"));
  EXPECT_THAT(fit_inputs(*config, "m", {.id = "a-uuid"}, inputs).error().message,
              HasSubstr("is no number"));
}

}  // namespace
}  // namespace commensal::oip
