// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <commensal/compute/session.hpp>
#include <limits>

namespace commensal::compute {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDigits = std::string(COMMENSAL_SOURCE_DIR) + "/models/digits/digits.onnx";

// ---- ONNX models by hand: this room sees no other encoder --------------------------------------

std::string varint(std::uint64_t value) {
  std::string made;
  for (; value >= 128; value >>= 7) made += static_cast<char>(value | 128);
  return made + static_cast<char>(value);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string bytes(int field, const std::string& value) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(value.size()) + value;
}

std::string port(const std::string& name, int dtype, const std::vector<std::int64_t>& dims) {
  std::string shape;
  for (const std::int64_t dim : dims) {
    shape += bytes(1, dim < 0 ? bytes(2, "N") : number(1, static_cast<std::uint64_t>(dim)));
  }
  const std::string type = number(1, static_cast<std::uint64_t>(dtype)) + bytes(2, shape);
  return bytes(1, name) + bytes(2, bytes(1, type));
}

std::string node(const std::string& op, const std::string& input, const std::string& output) {
  return bytes(1, bytes(1, input) + bytes(2, output) + bytes(3, "the_" + op) + bytes(4, op));
}

std::string model(const std::string& nodes, const std::string& input, const std::string& output) {
  const std::string graph = nodes + bytes(2, "made") + bytes(11, input) + bytes(12, output);
  return number(1, 8) + bytes(8, bytes(1, "") + number(2, 13)) + bytes(7, graph);
}

Result<Model> parse(const std::string& text) {
  const auto owner = std::make_shared<const std::string>(text);
  return Model::parse(std::as_bytes(std::span(*owner)), owner);
}

std::string relu() {
  return model(node("Relu", "x", "y"), port("x", 1, {-1, 2}), port("y", 1, {-1, 2}));
}

std::vector<float> picture(int seed) {
  std::vector<float> pixels;
  for (int i = 0; i < 64; ++i) pixels.push_back(static_cast<float>((i * 7 + seed * 31) % 17));
  return pixels;
}

std::vector<Tensor> run(Session& session, std::initializer_list<TensorView> inputs) {
  auto outputs = session.run(inputs);
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? *std::move(outputs) : std::vector<Tensor>();
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::ranges::equal(a, b);
}

// ------------------------------------------------------------------------------------------------

TEST(Model, TellsWhatItDeclares) {
  const auto loaded = Model::load(kDigits);
  ASSERT_TRUE(loaded) << loaded.error().message;
  ASSERT_EQ(loaded->inputs().size(), 1U);
  const Port& image = loaded->inputs()[0];
  EXPECT_EQ(image.name, "image");
  EXPECT_EQ(image.dtype, DType::kFloat32);
  EXPECT_THAT(image.shape.value(), ElementsAre(-1, 1, 8, 8));
  EXPECT_THAT(image.symbols, ElementsAre("N", "", "", ""));
  EXPECT_EQ(image.text, "float32[-1,1,8,8]");
  EXPECT_EQ(loaded->outputs()[0].name, "logits");
  EXPECT_EQ(loaded->parameter_count(), 15338U);
  EXPECT_EQ(loaded->node_count(), 10U);
  EXPECT_EQ(loaded->batching_objection(), "");
  EXPECT_EQ(name_of(DType::kBfloat16), "bfloat16");
  EXPECT_EQ(size_of(DType::kBfloat16), 2U);
  EXPECT_EQ(name_of(DType::kFloat8E8M0), "float8e8m0");
  EXPECT_EQ(name_of(static_cast<DType>(8)), "undefined") << "strings are not carried";
  EXPECT_EQ(size_of(static_cast<DType>(99)), 0U);
}

TEST(Model, LivesAsLongAsItsSession) {
  std::vector<float> seen;
  {
    auto session = [] { return Session::create(*parse(relu())); }();
    ASSERT_TRUE(session);
    const std::vector<float> x = {-1, 2, 3, -4};
    for (const float y : run(*session, {view<float>({2, 2}, x)})[0].data<float>()) {
      seen.push_back(y);
    }
  }
  EXPECT_THAT(seen, ElementsAre(0, 2, 3, 0));
}

TEST(Session, OptionsChangeNoBit) {
  const Model digits = *Model::load(kDigits);
  Session reference = *Session::create(digits, {.reference = true});
  const auto pixels = picture(1);
  const auto expected = run(reference, {view<float>({1, 1, 8, 8}, pixels)});
  for (int threads = 1; threads <= 4; ++threads) {
    Session session = *Session::create(digits, {.threads = threads});
    const auto got = run(session, {view<float>({1, 1, 8, 8}, pixels)});
    EXPECT_THAT(got[0].shape(), ElementsAre(1, 10));
    EXPECT_TRUE(same(got[0].bytes(), expected[0].bytes()));
  }
}

TEST(Session, ReadsInputsWhereTheyAre) {
  // A picture at every address that is aligned for its elements, beside bytes that are not its.
  Session session = *Session::create(*Model::load(kDigits));
  const auto pixels = picture(2);
  const auto expected = run(session, {view<float>({1, 1, 8, 8}, pixels)});
  std::vector<float> buffer(64 + 32, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t at = 0; at < 32; ++at) {
    std::ranges::fill(buffer, std::numeric_limits<float>::quiet_NaN());
    std::ranges::copy(pixels, buffer.begin() + static_cast<std::ptrdiff_t>(at));
    const std::span<const float> there(buffer.data() + at, 64);
    const auto got = run(session, {view<float>({1, 1, 8, 8}, there)});
    EXPECT_TRUE(same(got[0].bytes(), expected[0].bytes())) << at;
  }
}

TEST(Session, CopiesNoInput) {
  // A megabyte of input beside a memory limit of 64 kB.
  const std::string text = model(node("Shape", "x", "y"), port("x", 1, {-1}), port("y", 7, {1}));
  Session session = *Session::create(*parse(text), {.memory_bytes_max = 65536});
  const std::vector<float> x(1 << 18);
  EXPECT_THAT(run(session, {view<float>({1 << 18}, x)})[0].data<std::int64_t>(),
              ElementsAre(1 << 18));
}

TEST(Session, OutputsOutliveEverything) {
  const auto outputs = [] {
    Session session = *Session::create(*parse(relu()));
    const std::vector<float> x = {-1, 5};
    auto first = run(session, {view<float>({1, 2}, x)});
    const auto second = run(session, {view<float>({1, 2}, std::span(x))});
    EXPECT_NE(first[0].bytes().data(), second[0].bytes().data());
    return first;
  }();
  EXPECT_THAT(outputs[0].data<float>(), ElementsAre(0, 5));
  Session next = *Session::create(*parse(relu()));
  EXPECT_THAT(run(next, {outputs[0].view()})[0].data<float>(), ElementsAre(0, 5));
}

TEST(Session, KeepsNoInputThatAModelHandsThrough) {
  const std::string text =
      model(node("Relu", "x", "unused"), port("x", 1, {-1}), port("x", 1, {-1}));
  const auto passing = parse(text);
  ASSERT_TRUE(passing) << passing.error().message;
  Session session = *Session::create(*passing);
  std::vector<float> x = {1, 2};
  const auto outputs = run(session, {view<float>({2}, std::span<const float>(x))});
  x = {7, 8};
  EXPECT_THAT(outputs[0].data<float>(), ElementsAre(1, 2));
}

TEST(Session, TakesNothing) {
  Session session = *Session::create(*parse(relu()));
  const auto outputs = run(session, {view<float>({0, 2}, std::span<const float>())});
  EXPECT_THAT(outputs[0].shape(), ElementsAre(0, 2));
  EXPECT_TRUE(outputs[0].data<float>().empty());
}

std::string refusal(std::initializer_list<TensorView> inputs) {
  Session session = *Session::create(*parse(relu()));
  const auto refused = session.run(inputs);
  EXPECT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  return refused.error().message;
}

TEST(Session, SaysWhatItExpected) {
  alignas(8) const std::array<float, 4> x = {};
  const std::span<const std::byte> raw = std::as_bytes(std::span(x));
  EXPECT_EQ(refusal({}), "0 inputs, expected 1: x float32[-1,2]");
  EXPECT_THAT(refusal({view<float>({2, 2}, x), view<float>({2, 2}, x)}),
              HasSubstr("2 inputs, expected 1"));
  EXPECT_EQ(refusal({view<float>({4}, x)}), "input 'x' is float32[4], expected float32[-1,2]");
  EXPECT_EQ(refusal({{DType::kInt32, {2, 2}, raw}}),
            "input 'x' is int32[2,2], expected float32[-1,2]");
  EXPECT_EQ(refusal({view<float>({1, 2}, x)}),
            "input 'x' has 16 bytes, expected 8 for float32[1,2]");
  EXPECT_EQ(refusal({{DType::kFloat32, {1, 2}, raw.subspan(1, 8)}}),
            "input 'x' begins at an odd address, expected one divisible by 4");
  EXPECT_EQ(refusal({{static_cast<DType>(8), {1}, raw}}),
            "input 'x' has element type 8, expected float32[-1,2]");
  EXPECT_THAT(refusal({view<float>({-2, 2}, x)}), HasSubstr("input 'x': "));
  const std::array two = {std::byte{2}}, sixteen = {std::byte{16}};
  EXPECT_EQ(refusal({{DType::kBool, {1}, two}}), "input 'x': a bool that is neither 0 nor 1");
  EXPECT_EQ(refusal({{DType::kInt4, {1}, sixteen}}), "input 'x': int4 of more than 4 bits");
}

TEST(Session, RefusesByName) {
  EXPECT_EQ(Model::load("/nowhere.onnx").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(Model::load("/nowhere.onnx").error().message, HasSubstr("'/nowhere.onnx'"));
  EXPECT_EQ(parse("nonsense").error().code, ErrorCode::kInvalidArgument);
  const auto unknown =
      parse(model(node("Frobnicate", "x", "y"), port("x", 1, {2}), port("y", 1, {2})));
  EXPECT_EQ(unknown.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(unknown.error().message, HasSubstr("Frobnicate"));
  const auto strings =
      parse(model(node("Identity", "x", "y"), port("x", 8, {2}), port("y", 8, {2})));
  ASSERT_FALSE(strings);
  EXPECT_EQ(strings.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(strings.error().message,
            "input 'x' is string[2], expected a tensor of numbers or bools");
  EXPECT_EQ(Session::create(*parse(relu()), {.threads = 0}).error().code,
            ErrorCode::kInvalidArgument);
  Session small = *Session::create(*parse(relu()), {.memory_bytes_max = 64});
  const std::vector<float> x(1000);
  EXPECT_EQ(small.run({view<float>({500, 2}, x)}).error().code, ErrorCode::kResourceExhausted);
}

TEST(ResultDeathTest, MisuseEndsTheProgramWithTheReason) {
  EXPECT_DEATH(*Model::load("/nowhere.onnx"), "commensal: .*nowhere");
  EXPECT_DEATH((void)parse(relu()).error(), "has a value");
  Session session = *Session::create(*parse(relu()));
  const std::vector<float> x = {1, 2};
  const auto outputs = run(session, {view<float>({1, 2}, x)});
  EXPECT_DEATH((void)outputs[0].data<double>(), "something else than its type");
}

TEST(Version, IsThatOfTheProject) {
  EXPECT_EQ(version(), "0.1.0");
  EXPECT_GE(numerics_version(), 1);
}

}  // namespace
}  // namespace commensal::compute
