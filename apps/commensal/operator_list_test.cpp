// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <apps/commensal/operator_list.hpp>
#include <commensal/base/core/file.hpp>

namespace commensal::apps {
namespace {

using ::testing::HasSubstr;

TEST(OperatorList, JoinsTheRowsOfAnOperator) {
  const auto list = operator_list();
  const auto clips = std::ranges::count(list, std::string("Clip"), &OperatorEntry::name);
  EXPECT_EQ(clips, 1);
  const auto clip = std::ranges::find(list, std::string("Clip"), &OperatorEntry::name);
  EXPECT_EQ(clip->domain, "ai.onnx");
  EXPECT_EQ(clip->since, 1);
  EXPECT_EQ(clip->until, 0);
  EXPECT_TRUE(clip->is_fast);
}

// `commensal operators --markdown` writes what docs/operators.md holds.
TEST(OperatorList, IsTheOneOfTheDocument) {
  const auto bytes = core::read_file(core::Path(COMMENSAL_SOURCE_DIR) / "docs/operators.md");
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_THAT(std::string(core::as_text(*bytes)), HasSubstr(operator_markdown()));
}

}  // namespace
}  // namespace commensal::apps
