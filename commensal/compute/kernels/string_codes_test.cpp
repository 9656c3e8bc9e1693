// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/compute/kernels/string_codes.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>

namespace commensal::kernels {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor words(std::vector<std::string> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of_strings({count}, values);
}
Tensor places(std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

core::Result<std::vector<Tensor>> run(const Sample& sample) {
  SampleCall made(sample);
  COMMENSAL_ASSIGN(const auto codes, StringCodes::of(made.op(), made.call()));
  made.call().inputs = codes.inputs();
  COMMENSAL_TRY(made.infer());
  return codes.decoded(made.run_ref(), made.call().pulse);
}

TEST(StringCodes, CarryStringsThroughAMove) {
  const auto got = run({"Gather", 13, {words({"pear", "fig", ""}), places({2, 0, 0})}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT((*got)[0].strings(), ElementsAre("", "pear", "pear"));
}

TEST(StringCodes, PadWithNothing) {
  const auto got = run({"Pad", 13, {words({"a"}), places({1, 1})}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_THAT((*got)[0].strings(), ElementsAre("", "a", ""));
}

TEST(StringCodes, CompareAndSortAsBytesDo) {
  const auto equal = run({"Equal", 19, {words({"b", "a"}), words({"b", "b"})}});
  ASSERT_TRUE(equal) << equal.error().message;
  EXPECT_THAT((*equal)[0].data<bool>(), ElementsAre(true, false));
  const auto unique = run({"Unique", 11, {words({"b", "B", "b"})}, {}, 4});
  ASSERT_TRUE(unique) << unique.error().message;
  EXPECT_THAT((*unique)[0].strings(), ElementsAre("B", "b"));
  EXPECT_THAT((*unique)[3].data<std::int64_t>(), ElementsAre(1, 2));
}

TEST(StringCodes, AreNeverMixedWithNumbers) {
  const auto where = run({"Where", 16, {places({1}), words({"a"}), places({7})}});
  ASSERT_FALSE(where);
  EXPECT_THAT(where.error().message, HasSubstr("input 2 must be strings"));
  const auto depth = run({"OneHot", 11, {words({"a"}), places({2}), words({"x", "y"})}});
  ASSERT_FALSE(depth);
  EXPECT_THAT(depth.error().message, HasSubstr("input 0 must not be strings"));
  Attributes add;
  add.set("reduction", std::string("add"));
  EXPECT_FALSE(run({"ScatterElements", 16, {words({"a"}), places({0}), words({"b"})}, add}));
  const auto relu = run({"Relu", 14, {words({"a"})}});
  ASSERT_FALSE(relu);
  EXPECT_EQ(relu.error().code, core::ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace commensal::kernels
