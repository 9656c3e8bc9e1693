// SPDX-License-Identifier: Apache-2.0
// There is one table of operators, and nobody else knows their names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tests/tidy/operators.hpp>

namespace commensal::tidy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(OperatorNames, AreInTheTableOnly) {
  const std::filesystem::path root = COMMENSAL_SOURCE_DIR;
  std::vector<Source> sources;
  for (const char* folder : {"apps", "commensal"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      sources.push_back({entry.path().lexically_relative(root).generic_string(),
                         std::string(std::istreambuf_iterator<char>(file), {})});
    }
  }
  const auto names = operator_names(sources);
  EXPECT_GT(names.size(), 200U) << "the walk over the tree found no table";
  std::vector<Finding> findings;
  for (const Source& source : sources) {
    std::ranges::move(check_operator_names(source, names), std::back_inserter(findings));
  }
  EXPECT_THAT(report(findings), IsEmpty());
}

std::string wrong(std::string path, std::string text) {
  const auto names = operator_names({{"commensal/compute/kernels/table_a.hpp",
                                      "{.name = \"Conv\", .since = 1},\n{.name = \"Add\"},"}});
  return report(check_operator_names({std::move(path), std::move(text)}, names));
}

TEST(LinterTest, FindsComparedNames) {
  for (const char* line : {"if (op.name == \"Conv\") f();", "x = \"Conv\" != node.op->name;",
                           "return node.op->name == wanted;", "proto.op_type() == \"Constant\""}) {
    EXPECT_THAT(wrong("commensal/lab/a.cpp", line), HasSubstr("is compared")) << line;
    EXPECT_EQ(wrong("commensal/lab/a_test.cpp", line), "") << line;
  }
  for (const char* line : {"writer.text(op.name);", "// op.name == \"Conv\"", "op.name_ == x",
                           "a == b; f(op.name);"}) {
    EXPECT_EQ(wrong("commensal/lab/a.cpp", line), "") << line;
  }
}

TEST(LinterTest, FindsASecondTable) {
  const std::string table = "constexpr Row kRows[] = {{\"x\", 1},\n{\"Add\", 2}};";
  EXPECT_THAT(wrong("commensal/compute/graph/a.cpp", table), HasSubstr("a.cpp:2: \"Add\""));
  EXPECT_THAT(wrong("commensal/verify/spot/a.hpp", table), HasSubstr("ask its row"));
  EXPECT_EQ(wrong("commensal/compute/kernels/testing/a.hpp", table), "");
  EXPECT_EQ(wrong("commensal/verify/arbiter/a.cpp", table), "");
  for (const char* path : {"commensal/lab/a.cpp", "commensal/serve/a/a.cpp", "apps/a.cpp"}) {
    EXPECT_THAT(wrong(path, table), HasSubstr("ask its row")) << path;
  }
  const std::string found = "auto* row = find_operator(\"\", \"Add\", 13);";
  EXPECT_EQ(wrong("commensal/lab/a.cpp", found), "");
  EXPECT_THAT(wrong("commensal/verify/spot/a.cpp", found), HasSubstr("ask its row"));
}

}  // namespace
}  // namespace commensal::tidy
