// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <cstring>
#include <set>

namespace commensal::kernels {
namespace {

using namespace testing;
using tensor::DType;

std::string describe(const SampleCall& made) {
  std::string text = fmt::format("{} at opset {}", made.sample().name, made.sample().opset);
  for (const Tensor& input : made.sample().inputs) text += fmt::format(" {}", input.type().text());
  return text;
}

Scalar scalar_at(const Tensor& tensor, std::int64_t index) {
  const auto size = static_cast<std::size_t>(tensor::traits(tensor.dtype()).size);
  Scalar made{tensor.dtype(), 0};
  std::memcpy(&made.bits, tensor.bytes().data() + static_cast<std::size_t>(index) * size, size);
  return made;
}

// Every sample as it is, with special values, and in every element type that infer admits.
void for_all_calls(const std::function<void(SampleCall&)>& visit) {
  for (const Sample& sample : all_samples()) {
    std::vector<Sample> variants = {sample, with_specials(sample)};
    for (const auto& type : tensor::all_dtypes()) {
      if (type.size > 0) variants.push_back(as_type(sample, type.dtype));
    }
    for (std::size_t i = 0; i < variants.size(); ++i) {
      SampleCall made(variants[i]);
      const auto inferred = made.infer();
      if (i < 2) {
        ASSERT_TRUE(inferred.has_value()) << describe(made) << ": " << inferred.error().message;
      }
      if (inferred) visit(made);
    }
  }
}

// Some output elements: all of a small output, else evenly spread ones.
std::vector<std::int64_t> some_elements(std::int64_t count, std::int64_t most) {
  std::vector<std::int64_t> made;
  const std::int64_t step = std::max<std::int64_t>(count / most, 1);
  for (std::int64_t i = 0; i < count; i += step) made.push_back(i);
  if (count > 0) made.push_back(count - 1);
  return made;
}

TEST(Table, IsInAlphabeticalOrderAndComplete) {
  const auto table = model_operators();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const Operator& row = table[i];
    const bool computes = row.judge->infer != nullptr;
    EXPECT_TRUE(computes || row.values != nullptr) << row.name;
    EXPECT_EQ(computes, row.judge->run != nullptr) << row.name;
    EXPECT_EQ(computes, row.kind != Kind::kStructure) << row.name;
    const bool audited = computes && row.strings != Strings::kOwn;
    EXPECT_TRUE(!audited || (row.judge->reads && row.judge->element)) << row.name;
    EXPECT_EQ(row.judge->steps == nullptr, row.judge->partial == nullptr) << row.name;
    EXPECT_TRUE(row.kind != Kind::kDotProduct || row.judge->steps != nullptr) << row.name;
    EXPECT_LE(row.inputs.min, row.inputs.max) << row.name;
    if (i == 0) continue;
    EXPECT_LE(table[i - 1].name, row.name);
    const bool follows = table[i - 1].name == row.name;
    EXPECT_TRUE(!follows || table[i - 1].until + 1 == row.since) << row.name;
  }
}

TEST(Table, HasASampleForEveryRow) {
  std::set<const Operator*> seen;
  for (const Sample& sample : all_samples()) seen.insert(&SampleCall(sample).op());
  for (const Operator& row : model_operators()) {
    // Those on values are tested through graphs: graph/values_test.cpp.
    EXPECT_TRUE(seen.contains(&row) || row.kind == Kind::kStructure) << row.name;
  }
}

TEST(Table, FindsByOpset) {
  EXPECT_EQ((*find_operator("", "Clip", 10))->until, 10);
  EXPECT_EQ((*find_operator("ai.onnx", "Clip", 11))->since, 11);
  const auto unknown = find_operator("com.example", "Frobnicate", 12);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(unknown.error().message,
            "operator Frobnicate of domain 'com.example' is not supported at opset 12");
}

TEST(Table, ElementEqualsRefBitForBit) {
  for_all_calls([](SampleCall& made) {
    if (made.op().judge->element == nullptr) return;  // makes strings
    const auto outputs = made.run_ref();
    for (int o = 0; o < static_cast<int>(outputs.size()); ++o) {
      const Tensor& output = outputs[static_cast<std::size_t>(o)];
      for (const std::int64_t i : some_elements(output.elements(), 60)) {
        ASSERT_EQ(made.op().judge->element(made.call(), o, i), scalar_at(output, i))
            << describe(made) << ", element " << i << " of output " << o;
      }
    }
  });
}

// The input element with other bits: a small change of an integer, so that it stays a valid
// position, a wild one of a float.
Tensor perturbed(const Tensor& input, std::int64_t index) {
  if (input.dtype() == DType::kString) {
    std::vector<std::string> texts(input.strings().begin(), input.strings().end());
    texts[static_cast<std::size_t>(index)] += "'";
    return Tensor::of_strings(input.shape(), texts);
  }
  std::vector<std::uint8_t> bytes(input.bytes().begin(), input.bytes().end());
  const auto size = static_cast<std::size_t>(tensor::traits(input.dtype()).size);
  std::uint8_t* at = bytes.data() + static_cast<std::size_t>(index) * size;
  const bool is_float = input.dtype() == DType::kFloat32 || input.dtype() == DType::kFloat64 ||
                        input.dtype() == DType::kFloat16 || input.dtype() == DType::kBfloat16;
  at[is_float ? size - 1 : 0] ^= is_float ? 0xc1 : 0x01;
  if (!is_float && size > 1) std::memset(at + 1, 0, size - 1), at[0] &= 0x01;
  return Tensor::copy_of(input.type(), bytes);
}

void expect_sound_reads(SampleCall& made, int output, std::int64_t index) {
  std::vector<ElementRef> reads;
  made.op().judge->reads(made.call(), output, index, reads);
  EXPECT_TRUE(std::is_sorted(reads.begin(), reads.end())) << describe(made);
  EXPECT_EQ(std::adjacent_find(reads.begin(), reads.end()), reads.end()) << describe(made);
  for (const ElementRef& one : reads) {
    ASSERT_TRUE(made.call().has(one.input)) << describe(made);
    ASSERT_LT(one.index, made.call().in(one.input).elements()) << describe(made);
  }
  const Scalar before = made.op().judge->element(made.call(), output, index);
  for (int i = 0; i < static_cast<int>(made.sample().inputs.size()); ++i) {
    if (!made.call().has(i)) continue;
    for (const std::int64_t e : some_elements(made.call().in(i).elements(), 12)) {
      if (std::binary_search(reads.begin(), reads.end(), ElementRef{i, e})) continue;
      Sample other = made.sample();
      Tensor& input = other.inputs[static_cast<std::size_t>(i)];
      input = perturbed(input, e);
      SampleCall changed(other);
      ASSERT_TRUE(changed.infer().has_value()) << describe(made);
      EXPECT_EQ(changed.op().judge->element(changed.call(), output, index), before)
          << describe(made) << ": element " << index << " of output " << output
          << " depends on element " << e << " of input " << i;
    }
  }
}

TEST(Table, ReadsNamesAllThatAnElementDependsOn) {
  for (const Sample& sample : all_samples()) {
    SampleCall made(sample);
    ASSERT_TRUE(made.infer().has_value());
    if (made.op().judge->element == nullptr) continue;
    for (int o = 0; o < static_cast<int>(made.call().outputs.size()); ++o) {
      const std::int64_t count = made.call().outputs[static_cast<std::size_t>(o)].shape.elements();
      for (const std::int64_t i : some_elements(count, 5)) expect_sound_reads(made, o, i);
    }
  }
}

float as_float(Scalar scalar) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(scalar.bits));
}

TEST(Table, PartialEndsWhereTheElementBegins) {
  // Operators whose element is the last partial result, plus +0.
  const std::set<std::string> plain = {"MatMul",    "MaxPool",   "GlobalMaxPool",   "ReduceMax",
                                       "ReduceMin", "ReduceSum", "ReduceSumSquare", "ReduceL1"};
  int checked = 0;
  for (const Sample& sample : all_samples()) {
    SampleCall made(sample);
    ASSERT_TRUE(made.infer().has_value());
    if (made.op().judge->steps == nullptr) continue;
    const std::int64_t steps = made.op().judge->steps(made.call(), 0, 0);
    EXPECT_GE(steps, 0) << describe(made);
    for (std::int64_t k = 0; k <= steps; ++k) made.op().judge->partial(made.call(), 0, 0, k);
    if (!plain.contains(sample.name)) continue;
    const Scalar last = made.op().judge->partial(made.call(), 0, 0, steps);
    EXPECT_EQ(as_float(made.op().judge->element(made.call(), 0, 0)), as_float(last) + 0.0f)
        << describe(made);
    ++checked;
  }
  EXPECT_GE(checked, static_cast<int>(plain.size()));
}

TEST(Table, PartialTakesOneFusedStepAtATime) {
  SampleCall made(Sample{"MatMul",
                         13,
                         {Tensor::of<float>({1, 3}, std::array{2.0f, 3.0f, 5.0f}),
                          Tensor::of<float>({3, 1}, std::array{7.0f, 11.0f, 13.0f})}});
  ASSERT_TRUE(made.infer().has_value());
  const float expected[] = {0, 14, 47, 112};
  ASSERT_EQ(made.op().judge->steps(made.call(), 0, 0), 3);
  for (int k = 0; k <= 3; ++k) {
    EXPECT_EQ(as_float(made.op().judge->partial(made.call(), 0, 0, k)), expected[k]);
  }
}

}  // namespace
}  // namespace commensal::kernels
