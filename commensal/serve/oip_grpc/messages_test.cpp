// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <commensal/serve/oip_grpc/messages.hpp>
#include <limits>

namespace commensal::oip_grpc {
namespace {

using inference::ModelInferRequest;
using RequestPtr = std::shared_ptr<ModelInferRequest>;

RequestPtr request_of(const std::string& datatype, std::initializer_list<std::int64_t> shape) {
  auto request = std::make_shared<ModelInferRequest>();
  request->set_model_name("simple");
  auto& input = *request->add_inputs();
  input.set_name("INPUT0");
  input.set_datatype(datatype);
  for (const std::int64_t dim : shape) input.add_shape(dim);
  return request;
}

inference::InferTensorContents& contents_of(const RequestPtr& request) {
  return *request->mutable_inputs(0)->mutable_contents();
}

/// Of the request's one input; what is wrong, where it is refused.
std::string wrong(const RequestPtr& request) {
  const auto body = read_request(request);
  return body ? "" : body.error().message;
}

template <class T>
std::vector<T> values_of(const RequestPtr& request) {
  const auto body = read_request(request);
  if (!body) return ADD_FAILURE() << body.error().message, std::vector<T>();
  const auto data = body->inputs.at(0).value.data<T>();
  return {data.begin(), data.end()};
}

std::vector<std::string> strings_of(const RequestPtr& request) {
  const auto body = read_request(request);
  if (!body) return ADD_FAILURE() << body.error().message, std::vector<std::string>();
  const auto data = body->inputs.at(0).value.strings();
  return {data.begin(), data.end()};
}

TEST(Version, IsANumberFromOneOn) {
  EXPECT_EQ(read_version("").value(), 0u);
  EXPECT_EQ(read_version("3").value(), 3u);
  for (const char* text : {"wrong_specification", "0", "-1", "1 ", "4294967296"}) {
    const auto version = read_version(text);
    ASSERT_FALSE(version.has_value()) << text;
    EXPECT_EQ(version.error().code, core::ErrorCode::kInvalidArgument);
    EXPECT_TRUE(version.error().message.starts_with(
        fmt::format("failed to get model version from specified version string '{}'", text)));
  }
}

TEST(Parameters, SayOfWhichPrivacyClassARequestIs) {
  auto request = request_of("INT32", {1});
  contents_of(request).add_int_contents(1);
  auto& parameter = (*request->mutable_parameters())["privacy_class"];
  parameter.set_string_param("medical");
  EXPECT_EQ(read_request(request)->privacy_class, "medical");
  parameter.set_string_param("");
  EXPECT_THAT(wrong(request), ::testing::HasSubstr("expected 1 to 32"));
  parameter.set_int64_param(7);
  EXPECT_THAT(wrong(request), ::testing::HasSubstr("expected 1 to 32"));
}

TEST(Parameters, RefuseAPrivacyClassWhereItIsNotRead) {
  const auto said_in = [](auto choose, const char* name) {
    auto request = request_of("INT32", {1});
    contents_of(request).add_int_contents(1);
    request->add_outputs()->set_name("OUTPUT0");
    (*choose(*request))[name].set_string_param("medical");
    return wrong(request);
  };
  const auto of_request = [](ModelInferRequest& all) { return all.mutable_parameters(); };
  const auto of_input = [](ModelInferRequest& all) {
    return all.mutable_inputs(0)->mutable_parameters();
  };
  const auto of_output = [](ModelInferRequest& all) {
    return all.mutable_outputs(0)->mutable_parameters();
  };
  EXPECT_EQ(said_in(of_request, "privacy_class"), "");
  for (const char* name : {"privacy-class", "Privacy_class", "privacyClass"})
    EXPECT_THAT(said_in(of_request, name), ::testing::HasSubstr("is not read here")) << name;
  for (const char* name : {"privacy_class", "privacy-class"}) {
    EXPECT_THAT(said_in(of_input, name), ::testing::HasSubstr("is not read here")) << name;
    EXPECT_THAT(said_in(of_output, name), ::testing::HasSubstr("is not read here")) << name;
  }
  EXPECT_EQ(said_in(of_input, "privacy"), "");
}

TEST(Contents, AreElementsOfEachType) {
  const RequestPtr int8 = request_of("INT8", {3});
  for (const int value : {-128, 0, 127}) contents_of(int8).add_int_contents(value);
  EXPECT_EQ(values_of<std::int8_t>(int8), (std::vector<std::int8_t>{-128, 0, 127}));
  const RequestPtr uint16 = request_of("UINT16", {1, 2});
  for (const unsigned value : {0u, 65535u}) contents_of(uint16).add_uint_contents(value);
  EXPECT_EQ(values_of<std::uint16_t>(uint16), (std::vector<std::uint16_t>{0, 65535}));
  const RequestPtr uint64 = request_of("UINT64", {1});
  contents_of(uint64).add_uint64_contents(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(values_of<std::uint64_t>(uint64).at(0), std::numeric_limits<std::uint64_t>::max());
  const RequestPtr fp32 = request_of("FP32", {2});
  for (const float value : {0.5f, -2.0f}) contents_of(fp32).add_fp32_contents(value);
  EXPECT_EQ(values_of<float>(fp32), (std::vector<float>{0.5f, -2.0f}));
  const RequestPtr fp64 = request_of("FP64", {1});
  contents_of(fp64).add_fp64_contents(0.1);
  EXPECT_EQ(values_of<double>(fp64).at(0), 0.1);
  const RequestPtr truth = request_of("BOOL", {2});
  for (const bool value : {true, false}) contents_of(truth).add_bool_contents(value);
  EXPECT_EQ(values_of<bool>(truth), (std::vector<bool>{true, false}));
  const RequestPtr bytes = request_of("BYTES", {2});
  const std::string zeros("a\0b", 3);
  contents_of(bytes).add_bytes_contents(zeros);
  contents_of(bytes).add_bytes_contents("");
  EXPECT_EQ(strings_of(bytes), (std::vector<std::string>{zeros, ""}));
}

TEST(Contents, FitTheirTypeAndShape) {
  const RequestPtr large = request_of("INT8", {1});
  contents_of(large).add_int_contents(128);
  EXPECT_EQ(wrong(large), "input 'INPUT0': 128 is no INT8");
  const RequestPtr few = request_of("INT32", {2, 2});
  contents_of(few).add_int_contents(1);
  EXPECT_EQ(wrong(few), "input 'INPUT0': 1 elements, the shape [2,2] has 4");
  const RequestPtr other = request_of("INT64", {1});
  contents_of(other).add_int_contents(1);
  EXPECT_EQ(wrong(other),
            "input 'INPUT0': the elements are in int_contents, those of INT64 come in "
            "int64_contents");
  const RequestPtr half = request_of("FP16", {1});
  contents_of(half).add_fp32_contents(1);
  EXPECT_EQ(wrong(half), "input 'INPUT0': FP16 comes in raw_input_contents only");
  EXPECT_EQ(wrong(request_of("FP99", {1})), "input 'INPUT0': the datatype 'FP99' is not supported");
}

TEST(Raw, IsLittleEndianAndOfTheRightSize) {
  const RequestPtr request = request_of("INT32", {2});
  request->add_raw_input_contents(std::string("\x01\0\0\0\xff\xff\xff\xff", 8));
  EXPECT_EQ(values_of<std::int32_t>(request), (std::vector<std::int32_t>{1, -1}));
  request->mutable_raw_input_contents(0)->pop_back();
  EXPECT_EQ(wrong(request), "input 'INPUT0': 7 bytes, expected 8 for int32[2]");
  request->add_raw_input_contents("");
  EXPECT_EQ(wrong(request), "expected raw_input_contents of each of the 1 inputs, there are 2");
  const RequestPtr truth = request_of("BOOL", {1});
  truth->add_raw_input_contents("\x02");
  EXPECT_NE(wrong(truth), "");
}

TEST(Raw, KeepsItsRequestAlive) {
  RequestPtr request = request_of("FP64", {64});
  request->add_raw_input_contents(std::string(512, '\0'));
  const std::weak_ptr<ModelInferRequest> weak = request;
  std::optional<oip::InferBody> body = *read_request(request);
  request.reset();
  EXPECT_FALSE(weak.expired());
  EXPECT_EQ(body->inputs.at(0).value.data<double>()[63], 0.0);
  body.reset();
  EXPECT_TRUE(weak.expired());
}

TEST(Raw, BytesHaveTheirLengthsBefore) {
  const RequestPtr request = request_of("BYTES", {1, 2});
  request->add_raw_input_contents(std::string("\x03\0\0\0a\0b\0\0\0\0", 11));
  EXPECT_EQ(strings_of(request), (std::vector<std::string>{std::string("a\0b", 3), ""}));
  request->mutable_raw_input_contents(0)->pop_back();
  EXPECT_THAT(wrong(request), ::testing::HasSubstr("input 'INPUT0': string 1 is cut off"));
}

// Whoever is told a shape allocates nothing for it.
TEST(Shape, OfMoreThanIsSentOrThereCanBeIsRefused) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const char* datatype : {"BYTES", "INT32"}) {
    for (const auto& shape : {std::vector<std::int64_t>{kHuge, kHuge},
                              {kHuge},
                              {-1},
                              {1 << 30, 64},
                              {1LL << 39},
                              std::vector<std::int64_t>(17, 1)}) {
      const RequestPtr request = request_of(datatype, {});
      for (const std::int64_t dim : shape) request->mutable_inputs(0)->add_shape(dim);
      EXPECT_NE(wrong(request), "");
      request->add_raw_input_contents("\0\0\0\0");
      EXPECT_NE(wrong(request), "");
    }
  }
}

TEST(RequestPtr, HasItsElementsInOneWay) {
  const RequestPtr request = request_of("INT32", {1});
  request->add_raw_input_contents(std::string(4, '\0'));
  contents_of(request).add_int_contents(1);
  EXPECT_EQ(wrong(request),
            "contents field must not be specified when using raw_input_contents for 'INPUT0' for "
            "model 'simple'");
}

TEST(RequestPtr, NamesEachTensorOnce) {
  const RequestPtr request = request_of("INT32", {1});
  *request->add_inputs() = request->inputs(0);
  EXPECT_EQ(wrong(request), "input 'INPUT0' is there twice");
  request->mutable_inputs(1)->clear_name();
  EXPECT_EQ(wrong(request), "an input needs a name");
}

TEST(RequestPtr, CarriesTheSequenceThatItIsOf) {
  const RequestPtr request = request_of("INT32", {0});
  auto& parameters = *request->mutable_parameters();
  parameters["sequence_id"].set_int64_param(1001);
  parameters["sequence_start"].set_bool_param(true);
  auto body = read_request(request);
  ASSERT_TRUE(body.has_value());
  EXPECT_EQ(body->sequence.id, "1001");
  EXPECT_TRUE(body->sequence.is_start);
  EXPECT_FALSE(body->sequence.is_end);
  parameters["sequence_id"].set_string_param("a-uuid");
  EXPECT_EQ(read_request(request)->sequence.id, "a-uuid");
  parameters["sequence_id"].set_int64_param(0);  // of none
  EXPECT_EQ(read_request(request)->sequence.id, "");
}

TEST(RequestPtr, SaysWhereItsInputsLie) {
  const RequestPtr request = request_of("INT32", {1});
  auto& parameters = *request->mutable_inputs(0)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_offset"].set_int64_param(64);
  parameters["shared_memory_byte_size"].set_int64_param(4);
  const auto body = read_request(request);
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_TRUE(body->inputs.empty());
  ASSERT_EQ(body->placed.size(), 1u);
  EXPECT_EQ(body->placed[0].name, "INPUT0");
  EXPECT_EQ(body->placed[0].type.text(), "int32[1]");
  EXPECT_EQ(body->placed[0].from.region, "r");
  EXPECT_EQ(body->placed[0].from.offset, 64);
  EXPECT_EQ(body->placed[0].from.bytes, 4);
  request->add_raw_input_contents(std::string(4, '\0'));
  EXPECT_EQ(wrong(request), "expected raw_input_contents of each of the 0 inputs, there are 1");
}

TEST(RequestPtr, CarriesWhatIsAskedOfOutputs) {
  const RequestPtr request = request_of("INT32", {0});
  auto& output = *request->add_outputs();
  output.set_name("OUTPUT0");
  auto& parameters = *output.mutable_parameters();
  parameters["classification"].set_int64_param(3);
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_offset"].set_int64_param(8);
  parameters["shared_memory_byte_size"].set_int64_param(64);
  const auto body = read_request(request);
  ASSERT_TRUE(body.has_value()) << body.error().message;
  EXPECT_EQ(body->outputs.at(0).classes, 3);
  EXPECT_EQ(body->outputs.at(0).place.value().offset, 8);
  EXPECT_EQ(body->outputs.at(0).place.value().bytes, 64);
  parameters["classification"].set_int64_param(-1);
  EXPECT_NE(wrong(request), "");
}

TEST(Response, NamesThePrivacyClassThatItIsOf) {
  Answer answer{.model = "m", .id = "7", .outputs = {}};
  EXPECT_FALSE(write_response(answer).parameters().contains("privacy_class"));
  answer.privacy_class = "medical";
  EXPECT_EQ(write_response(answer).parameters().at("privacy_class").string_param(), "medical");
}

TEST(Response, HasElementsRaw) {
  const std::vector<std::int32_t> numbers = {1, -1};
  tensor::NamedTensors outputs = {
      {"a", tensor::Tensor::of<std::int32_t>({1, 2}, numbers)},
      {"b", tensor::Tensor::of_strings({2}, {std::string("x\0", 2), ""})}};
  ASSERT_TRUE(choose(outputs, {}).has_value());
  EXPECT_FALSE(choose(outputs, {{.name = "c"}}).has_value());
  ASSERT_TRUE(choose(outputs, {{.name = "b"}, {.name = "a"}}).has_value());
  const auto response = write_response({.model = "m", .version = 2, .id = "7", .outputs = outputs});
  EXPECT_EQ(response.model_version(), "2");
  EXPECT_EQ(response.id(), "7");
  ASSERT_EQ(response.outputs_size(), 2);
  EXPECT_EQ(response.outputs(0).datatype(), "BYTES");
  EXPECT_EQ(response.raw_output_contents(0), std::string("\x02\0\0\0x\0\0\0\0\0", 10));
  EXPECT_EQ(response.outputs(1).shape(1), 2);
  EXPECT_EQ(response.raw_output_contents(1), std::string("\x01\0\0\0\xff\xff\xff\xff", 8));
}

}  // namespace
}  // namespace commensal::oip_grpc
