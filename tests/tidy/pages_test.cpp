// SPDX-License-Identifier: Apache-2.0
// What the documents link to is there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <tests/tidy/pages.hpp>

namespace commensal::tidy {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Pages, LinkToWhatIsThere) {
  const std::filesystem::path root = COMMENSAL_SOURCE_DIR;
  std::vector<std::filesystem::path> paths = {root / "README.md", root / "CONTRIBUTING.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") paths.push_back(entry.path());
  }
  ASSERT_GT(paths.size(), 8U) << "the walk over docs found too little";
  std::vector<Source> pages;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    pages.push_back({path.lexically_relative(root).generic_string(),
                     std::string(std::istreambuf_iterator<char>(file), {})});
  }
  const auto exists = [&root](const std::string& path) {
    return std::filesystem::exists(root / path);
  };
  EXPECT_THAT(report(check_page_links(pages, exists)), IsEmpty());
}

TEST(LinterTest, SpellsAnchors) {
  const auto anchors = anchors_of(
      "# A `b_c`, (D)\n#no\n## What it costs - now\n```\n# code\n```\n## Same\n## Same\ntext # "
      "x\n");
  EXPECT_THAT(anchors,
              testing::UnorderedElementsAre("a-b_c-d", "what-it-costs---now", "same", "same-1"));
}

TEST(LinterTest, FindsLinksToNothing) {
  const auto wrong = [](const std::string& text) {
    return report(check_page_links(
        {{"docs/a.md", text + "\n## Here\n"}, {"README.md", "# Top\n"}},
        [](const std::string& path) { return path != "docs/gone.md" && path != "gone.md"; }));
  };
  for (const char* text :
       {"[x](#here) [y](../README.md#top)", "[x](../LICENSE) [y](https://a.b/c#d)",
        "`[x](gone.md)`", "    [x](gone.md)", "```\n[x](gone.md)\n```"}) {
    EXPECT_EQ(wrong(text), "") << text;
  }
  EXPECT_THAT(wrong("\n[x](gone.md)"), HasSubstr("docs/a.md:2: a link to docs/gone.md"));
  EXPECT_THAT(wrong("[x](../gone.md#here)"), HasSubstr("a link to gone.md"));
  EXPECT_THAT(wrong("[x](#there)"), HasSubstr("docs/a.md has no heading #there"));
  EXPECT_THAT(wrong("[x](../README.md#here)"), HasSubstr("README.md has no heading #here"));
  EXPECT_THAT(wrong("[x](../LICENSE#here)"), HasSubstr("LICENSE has no heading"));
}

}  // namespace
}  // namespace commensal::tidy
