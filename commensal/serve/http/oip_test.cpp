// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <commensal/base/core/rng.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/serve/http/json_elements.hpp>
#include <commensal/serve/http/oip.hpp>
#include <commensal/serve/http/rollout_body.hpp>
#include <limits>
#include <nlohmann/json.hpp>

namespace commensal::http {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

core::Result<InferBody> read(std::string_view text, std::optional<std::size_t> json_bytes = {}) {
  std::optional<std::string> header;
  if (json_bytes) header = std::to_string(*json_bytes);
  return read_infer_body(core::as_bytes(text), header);
}

std::string error_of(std::string_view text, std::optional<std::size_t> json_bytes = {}) {
  const auto body = read(text, json_bytes);
  if (body) return "accepted";
  EXPECT_EQ(body.error().code, core::ErrorCode::kInvalidArgument);
  EXPECT_EQ(body.error().message.find('\n'), std::string::npos);
  return body.error().message;
}

TEST(OipRequest, ReadsJsonTensorsInAnyOrderOfMembers) {
  const auto body = read(R"( {"id":"a\u00e9\"","extra":{"deep":[1,{"x":null}]},"inputs":[
      {"data":[[1,2.5],[-3e-1,4]],"shape":[2,2],"datatype":"FP32","name":"x"},
      {"name":"n","shape":[3],"datatype":"INT64","parameters":{"unknown":[1]},
       "data":[-9223372036854775808,0,9223372036854775807]},
      {"name":"b","shape":[2],"datatype":"BOOL","data":[true,0]}],
      "outputs":[{"name":"y"},{"name":"z","parameters":{"binary_data":true}}]} )");
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->id, "a\xc3\xa9\"");
  ASSERT_EQ(body->inputs.size(), 3u);
  EXPECT_EQ(body->inputs[0].name, "x");
  EXPECT_EQ(body->inputs[0].value.type().text(), "float32[2,2]");
  EXPECT_EQ(body->inputs[0].value.data<float>()[2], -0.3f);
  EXPECT_EQ(body->inputs[1].value.data<std::int64_t>()[0], INT64_MIN);
  EXPECT_EQ(body->inputs[1].value.data<std::int64_t>()[2], INT64_MAX);
  EXPECT_TRUE(body->inputs[2].value.data<bool>()[0]);
  EXPECT_FALSE(body->inputs[2].value.data<bool>()[1]);
  ASSERT_EQ(body->outputs.size(), 2u);
  EXPECT_FALSE(body->outputs[0].binary);
  EXPECT_EQ(body->outputs[1].binary, true);
  EXPECT_FALSE(body->binary_outputs);
}

TEST(OipRequest, ReadsBinaryPartsInTheOrderOfTheInputs) {
  const std::string json =
      R"({"inputs":[{"name":"h","shape":[2],"datatype":"BF16","parameters":{"binary_data_size":4}},
         {"name":"j","shape":[1],"datatype":"UINT8","data":[7]},
         {"name":"f","shape":[],"datatype":"FP32","parameters":{"binary_data_size":4}},
         {"name":"none","shape":[0,3],"datatype":"FP32","parameters":{"binary_data_size":0}}],
         "parameters":{"binary_data_output":true}})";
  const float one = 1.0f;
  std::string text = json + std::string("\x80\x3f\x00\xc0", 4);
  text.append(reinterpret_cast<const char*>(&one), 4);
  const auto body = read(text, json.size());
  ASSERT_TRUE(body) << body.error().message;
  EXPECT_EQ(body->inputs[0].value.data<tensor::Bfloat16>()[1].bits, 0xc000);
  EXPECT_EQ(body->inputs[1].value.data<std::uint8_t>()[0], 7);
  EXPECT_EQ(body->inputs[2].value.data<float>()[0], 1.0f);
  EXPECT_EQ(body->inputs[3].value.elements(), 0);
  EXPECT_TRUE(body->binary_outputs);
}

struct Refused {
  const char* name;
  std::string text;
  std::optional<std::size_t> json_bytes;
  const char* says;
};

std::string with_input(std::string_view members) {
  return R"({"inputs":[{"name":"x",)" + std::string(members) + "}]}";
}

void expect_refused(const std::vector<Refused>& table) {
  for (const Refused& row : table) {
    const std::string error = error_of(row.text, row.json_bytes);
    EXPECT_NE(error.find(row.says), std::string::npos) << row.name << ": " << error;
    EXPECT_NE(error, "accepted") << row.name;
  }
}

TEST(OipRequest, RefusesWhatIsNoRequestInOneLine) {
  expect_refused({
      {"empty", "", {}, "expected an object"},
      {"no object", "[]", {}, "expected an object"},
      {"unclosed", R"({"inputs":[)", {}, "expected an object"},
      {"unclosed string", R"({"inputs)", {}, "expected a string that ends"},
      {"rest", R"({"inputs":[]} x)", {}, "expected the end"},
      {"bad escape", R"({"id":"\q"})", {}, "expected a string in UTF-8"},
      {"bad utf-8", "{\"id\":\"\xff\"}", {}, "expected a string in UTF-8"},
      {"bad ignored value", R"({"what":tru})", {}, "expected a JSON value"},
      {"trailing comma", R"({"inputs":[],})", {}, "expected a string"},
      {"no name", R"({"inputs":[{"shape":[1]}]})", {}, "needs a \"name\""},
      {"no shape", with_input(R"("datatype":"FP32","data":[1])"), {}, "\"shape\" is missing"},
      {"no data", with_input(R"("datatype":"FP32","shape":[1])"), {}, "is needed"},
      {"both",
       with_input(R"("datatype":"FP32","shape":[1],"data":[1],)"
                  R"("parameters":{"binary_data_size":4})"),
       {},
       "is needed"},
      {"unknown type", with_input(R"("datatype":"FP31","shape":[1],"data":[1])"), {}, "'FP31'"},
      {"number for a string",
       with_input(R"("datatype":"BYTES","shape":[1],"data":[1])"),
       {},
       "expected a string"},
      {"strings missing",
       with_input(R"("datatype":"BYTES","shape":[2],"data":["a"])"),
       {},
       "\"data\" holds 1"},
      {"strings too many",
       with_input(R"("datatype":"BYTES","shape":[1],"data":["a","b"])"),
       {},
       "\"data\" holds more"},
      {"half as JSON", with_input(R"("datatype":"FP16","shape":[1],"data":[1])"), {}, "binary"},
  });
}

TEST(OipRequest, RefusesShapesAndElementsInOneLine) {
  expect_refused({
      {"negative",
       with_input(R"("datatype":"FP32","shape":[-1],"data":[1])"),
       {},
       "input 'x': dimension 0 is negative"},
      {"huge",
       with_input(R"("datatype":"FP32","shape":[4294967296,4294967296],"data":[1])"),
       {},
       "x"},
      {"large and empty",
       with_input(R"("datatype":"FP32","shape":[1099511627776],"data":[1])"),
       {},
       "\"data\" holds 1"},
      {"fraction", with_input(R"("datatype":"FP32","shape":[1.5],"data":[1])"), {}, "integer"},
      {"rank", with_input(R"("shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1])"), {}, "dimensions"},
      {"too few", with_input(R"("datatype":"FP32","shape":[2],"data":[1])"), {}, "holds 1"},
      {"too many", with_input(R"("datatype":"FP32","shape":[1],"data":[1,2])"), {}, "holds more"},
      {"null",
       with_input(R"("datatype":"FP32","shape":[1],"data":[null])"),
       {},
       "'null' is no FP32"},
      {"NaN", with_input(R"("datatype":"FP32","shape":[1],"data":[NaN])"), {}, "'NaN' is no FP32"},
      {"inf", with_input(R"("datatype":"FP32","shape":[1],"data":[inf])"), {}, "'inf'"},
      {"overflow", with_input(R"("datatype":"FP32","shape":[1],"data":[1e39])"), {}, "'1e39'"},
      {"leading zero", with_input(R"("datatype":"FP32","shape":[1],"data":[01])"), {}, "'01'"},
      {"no digit", with_input(R"("datatype":"FP32","shape":[1],"data":[1.])"), {}, "'1.'"},
      {"plus", with_input(R"("datatype":"FP32","shape":[1],"data":[+1])"), {}, "'+1'"},
      {"range",
       with_input(R"("datatype":"UINT8","shape":[1],"data":[256])"),
       {},
       "'256' is no UINT8"},
      {"sign", with_input(R"("datatype":"UINT8","shape":[1],"data":[-1])"), {}, "'-1'"},
      {"no integer", with_input(R"("datatype":"INT32","shape":[1],"data":[1.0])"), {}, "'1.0'"},
      {"no bool", with_input(R"("datatype":"BOOL","shape":[1],"data":[2])"), {}, "'2' is no BOOL"},
      {"text", with_input(R"("datatype":"FP32","shape":[1],"data":["1"])"), {}, "is no FP32"},
      {"scalar data", with_input(R"("datatype":"FP32","shape":[1],"data":1)"), {}, "an array"},
      {"unclosed data", with_input(R"("datatype":"FP32","shape":[1],"data":[1}])"), {}, "x"},
      {"empty item", with_input(R"("datatype":"FP32","shape":[2],"data":[1,,2])"), {}, "''"},
  });
}

TEST(OipRequest, RefusesBinaryPartsThatDoNotFit) {
  const std::string four =
      with_input(R"("datatype":"FP32","shape":[1],"parameters":{"binary_data_size":4})");
  expect_refused({
      {"twice",
       R"({"inputs":[{"name":"x","datatype":"FP32","shape":[0],"data":[]},)"
       R"({"name":"x","datatype":"FP32","shape":[0],"data":[]}]})",
       {},
       "'x' is there twice"},
      {"shared memory", with_input(R"("parameters":{"shared_memory_region":7})"), {}, "expected"},
      {"sequence", R"({"parameters":{"sequence_start":1}})", {}, "expected"},
      {"binary without header", four + "1234", {}, "expected the end"},
      {"binary missing", four, {}, "0 bytes of binary data are left"},
      {"binary truncated", four + "123", four.size(), "3 bytes of binary data are left"},
      {"binary too long", four + "12345", four.size(), "1 bytes follow"},
      {"binary lies",
       with_input(R"("datatype":"FP32","shape":[2],)"
                  R"("parameters":{"binary_data_size":0})"),
       {},
       "0 bytes, expected 8 for float32[2]"},
      {"binary negative",
       with_input(R"("datatype":"FP32","shape":[2],)"
                  R"("parameters":{"binary_data_size":-8})"),
       {},
       "binary_data_size says -8"},
      {"header beyond body", four, four.size() + 1, "Inference-Header-Content-Length"},
  });
  EXPECT_FALSE(read_infer_body(core::as_bytes(four), "12x"));
  EXPECT_FALSE(read_infer_body(core::as_bytes(four), "-1"));
}

TEST(OipRequest, RefusesABoolThatIsNone) {
  const std::string json =
      with_input(R"("datatype":"BOOL","shape":[1],"parameters":{"binary_data_size":1})");
  EXPECT_TRUE(read(json + '\1', json.size()));
  EXPECT_NE(error_of(json + '\2', json.size()).find("neither 0 nor 1"), std::string::npos);
}

TEST(OipRequest, BoundsTheDepth) {
  const std::string deep =
      R"({"what":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  EXPECT_NE(error_of(deep).find("levels"), std::string::npos);
  const std::string data = with_input(R"("datatype":"FP32","shape":[0],"data":)" +
                                      std::string(20, '[') + std::string(20, ']'));
  EXPECT_NE(error_of(data).find("nested"), std::string::npos);
}

// Whatever stands in a document, the two readers of JSON agree on whether it is one.
TEST(OipRequest, AgreesWithAnotherParserOnMutatedText) {
  const std::string seed =
      R"({"id":"q\n\u0041","inputs":[{"name":"x","shape":[2,1],"datatype":"FP64",)"
      R"("data":[1e3,-0.5]}],)"
      R"("outputs":[{"name":"y","parameters":{"binary_data":false}}],"more":[null,{"a":"]}"}]})";
  ASSERT_TRUE(read(seed));
  core::CounterRng rng(11);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seed;
    for (std::uint32_t edits = 1 + rng.next_u32() % 2; edits > 0; --edits) {
      const std::size_t at = rng.next_u32() % text.size();
      const char c = seed[rng.next_u32() % seed.size()];
      if (rng.next_u32() % 3 == 0) {
        text.erase(at, 1);
      } else if (rng.next_u32() % 2 == 0) {
        text.insert(at, 1, c);
      } else {
        text[at] = c;
      }
    }
    if (!read(text)) continue;
    ++accepted;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_GT(accepted, 1000);
}

TEST(OipRequest, SurvivesTruncationAtEveryByte) {
  const std::string json =
      R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32","data":[1,2]},)"
      R"({"name":"y","shape":[1],"datatype":"FP32","parameters":{"binary_data_size":4}}]})";
  const std::string text = json + "abcd";
  ASSERT_TRUE(read(text, json.size()));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(read(text.substr(0, size), json.size())) << size;
    EXPECT_FALSE(read(text.substr(0, size))) << size;
  }
}

template <class T>
Tensor round_trip(const Tensor& tensor) {
  std::string text;
  append_json_elements(text, tensor);
  EXPECT_TRUE(nlohmann::json::accept(text));
  auto back = read_json_elements(text, tensor.type());
  EXPECT_TRUE(back) << back.error().message;
  return *back;
}

TEST(JsonElements, ReadBackToTheSameBits) {
  core::CounterRng rng(3);
  std::vector<float> floats = {0.0f, -0.0f, 1e-45f, -1.17549421e-38f, 3.40282347e+38f, 0.1f};
  std::vector<double> doubles = {0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1};
  for (int i = 0; i < 10'000; ++i) {
    const float f = std::bit_cast<float>(rng.next_u32());
    if (std::isfinite(f)) floats.push_back(f);
    const double d = std::bit_cast<double>(rng.next_u64());
    if (std::isfinite(d)) doubles.push_back(d);
  }
  const auto f = Tensor::of<float>({static_cast<std::int64_t>(floats.size())}, floats);
  const auto d = Tensor::of<double>({static_cast<std::int64_t>(doubles.size())}, doubles);
  EXPECT_TRUE(std::ranges::equal(round_trip<float>(f).bytes(), f.bytes()));
  EXPECT_TRUE(std::ranges::equal(round_trip<double>(d).bytes(), d.bytes()));
}

TEST(JsonElements, RoundOnceAndToTheNearest) {
  // 1 + 2^-24 is halfway between two floats; a little more must go up. Through binary64 it would
  // be rounded twice, and down.
  const auto up =
      read_json_elements("[1.000000059604644775390625000000001]", {DType::kFloat32, {1}});
  ASSERT_TRUE(up);
  EXPECT_EQ(up->data<float>()[0], std::nextafter(1.0f, 2.0f));
  const auto small = read_json_elements("[1e-50,-1e-9999,1e-45]", {DType::kFloat32, {3}});
  ASSERT_TRUE(small) << small.error().message;
  EXPECT_EQ(small->data<float>()[0], 0.0f);
  EXPECT_TRUE(std::signbit(small->data<float>()[1]));
  EXPECT_EQ(small->data<float>()[2], std::numeric_limits<float>::denorm_min());
}

TEST(JsonElements, HaveNoNanAndNoInfinity) {
  const float values[] = {NAN, INFINITY, -INFINITY, 1.5f};
  std::string text;
  append_json_elements(text, Tensor::of<float>({4}, values));
  EXPECT_EQ(text, "[null,null,null,1.5]");
}

TEST(JsonElements, AreWrittenForEveryType) {
  std::string text;
  const std::int8_t bytes[] = {-128, 127};
  append_json_elements(text, Tensor::of<std::int8_t>({2}, bytes));
  const std::uint64_t longs[] = {~std::uint64_t{0}};
  append_json_elements(text, Tensor::of<std::uint64_t>({1}, longs));
  const bool bools[] = {true, false};
  append_json_elements(text, Tensor::of<bool>({2}, bools));
  const tensor::Float16 halves[] = {tensor::to_float16(0.5f)};
  append_json_elements(text, Tensor::of<tensor::Float16>({1}, halves));
  append_json_elements(text, Tensor::of<float>({0}, std::span<const float>()));
  EXPECT_EQ(text, "[-128,127][18446744073709551615][true,false][0.5][]");
}

TEST(JsonElements, AreNoLongerThanTheirBound) {
  const auto expect_fits = [](const Tensor& tensor) {
    std::string text;
    append_json_elements(text, tensor);
    const auto most = static_cast<std::size_t>(json_elements_bytes_max(tensor));
    EXPECT_LE(text.size(), most) << tensor.type().text();
    EXPECT_GE(text.size() + static_cast<std::size_t>(tensor.shape().elements()), most)
        << tensor.type().text();  // by a character: the longest are among them
    const std::int64_t bytes = std::ssize(text);
    EXPECT_EQ(json_elements_bytes(tensor, bytes), bytes);
    EXPECT_GT(json_elements_bytes(tensor, bytes - 1), bytes - 1);
    EXPECT_LE(json_elements_bytes_min(tensor.type()), bytes);
  };
  const auto all = [&]<class T>(std::initializer_list<T> values) {
    expect_fits(Tensor::of<T>({std::ssize(values)}, std::span<const T>(values)));
  };
  all({-1.13799526e-26f});
  const Tensor strings = Tensor::of_strings({3}, {std::string(5, '\0'), "\"", "plain"});
  std::string text;
  append_json_elements(text, strings);
  EXPECT_LE(std::ssize(text), json_elements_bytes_max(strings));
  EXPECT_GE(std::ssize(text), json_elements_bytes_min(strings.type()));
  EXPECT_EQ(json_elements_bytes(strings, 1 << 20), std::ssize(text));
  all({-2.2250738585072014e-308, -1.7976931348623157e+308});
  all({std::int8_t{-128}});
  all({std::uint8_t{255}});
  all({std::int16_t{-32768}});
  all({std::uint16_t{65535}});
  all({INT32_MIN});
  all({UINT32_MAX});
  all({INT64_MIN});
  all({UINT64_MAX});
  all({false});
  core::SystemRng rng;
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    const float values[] = {std::bit_cast<float>(static_cast<std::uint32_t>(rng.next_u64()))};
    append_json_elements(text, Tensor::of<float>({1}, values));
    ASSERT_LE(text.size(), 2u + 16u) << text;
  }
}

// The fault: a header that said how much is JSON lifted the bound on it for rollouts, and a feed of
// millions of names became gigabytes before its second name was counted.
TEST(OipRequest, ARolloutsJsonIsBoundedAsARequestsIs) {
  const std::string large(std::size_t{limits::kHttpJsonBytesMax} + 1, ' ');
  const auto read = read_rollout_body(core::as_bytes(large), std::to_string(large.size()));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("send tensors as binary data"), std::string::npos);
  const std::string_view names = R"({"feeds":[["a","b","c" and no more JSON)";
  EXPECT_NE(read_rollout_body(core::as_bytes(names), {}).error().message.find("pairs"),
            std::string::npos);
}

// The fault: a rollout over HTTP had no noise and no audits unless it asked for them.
TEST(RolloutBodies, NoiseAndAuditsAreThereUnlessTheyAreTurnedOff) {
  const auto read = [](std::string_view more) {
    constexpr std::string_view kInputs =
        R"([{"name":"x","datatype":"FP32","shape":[1],"data":[1]}])";
    const std::string body =
        fmt::format(R"({{"model":"a/b","steps":2,"inputs":{}{}}})", kInputs, more);
    return read_rollout_body(core::as_bytes(body), {});
  };
  const auto usual = read("");
  ASSERT_TRUE(usual) << usual.error().message;
  EXPECT_EQ(usual->noise_exponent, 12);
  EXPECT_EQ(usual->audit_probability, 0.01);
  EXPECT_EQ(read(R"(,"noise":16)")->noise_exponent, 16);
  const auto bare = read(R"(,"noise":null,"audit_probability":0)");
  EXPECT_EQ(bare->noise_exponent, std::nullopt);
  EXPECT_EQ(bare->audit_probability, 0);
  EXPECT_NE(read(R"(,"noise":-1)").error().message.find("expected an exponent, or null"),
            std::string::npos);
}

}  // namespace
}  // namespace commensal::http
