// SPDX-License-Identifier: Apache-2.0
// The tree obeys the rules of the house (CONTRIBUTING.md); and the linter that says so can fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <tests/tidy/arrows.hpp>
#include <tests/tidy/functions.hpp>
#include <tests/tidy/includes.hpp>
#include <tests/tidy/rules.hpp>

namespace commensal::tidy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kSpdx = "// SPDX-License-Identifier: Apache-2.0\n";

Source read(const std::filesystem::path& root, const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {path.lexically_relative(root).generic_string(),
          std::string(std::istreambuf_iterator<char>(file), {})};
}

std::string report(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += to_string(finding) + "\n";
  return text;
}

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    arrows_ = Arrows::parse(read(root_, root_ / "tests/tidy/arrows.txt"), findings_);
    ASSERT_TRUE(findings_.empty()) << report(findings_);
  }

  const std::filesystem::path root_ = COMMENSAL_SOURCE_DIR;
  std::vector<Finding> findings_;
  Arrows arrows_;
};

TEST_F(TreeTest, SourcesObeyTheRules) {
  std::vector<Source> sources;
  for (const char* file : {"demo", "test", ".ci/run", "CMakeLists.txt"}) {
    sources.push_back(read(root_, root_ / file));
  }
  for (const char* folder : {"apps", "cmake", "commensal", "examples", "hosts", "models", "proto",
                             "scripts", "tests"}) {
    std::filesystem::recursive_directory_iterator at(root_ / folder);
    for (const auto& entry : at) {
      if (entry.path().filename() == "node_modules") at.disable_recursion_pending();
      if (entry.is_regular_file()) sources.push_back(read(root_, entry.path()));
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  std::erase_if(sources, [](const Source& source) { return !is_checked(source); });
  ASSERT_GT(sources.size(), 100U) << "the walk over the tree found too little";
  for (const Source& source : sources)
    std::ranges::move(check(source, arrows_), std::back_inserter(findings_));
  std::ranges::move(check_leaf_headers(sources, arrows_), std::back_inserter(findings_));
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

TEST_F(TreeTest, CMakeLinksFollowTheArrows) {
  const Source cmake = read(root_, root_ / "CMakeLists.txt");
  ASSERT_THAT(cmake.text, HasSubstr("commensal_room(base/core"));
  findings_ = arrows_.check_cmake(cmake);
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

// ---- the linter itself -------------------------------------------------------------------------

Arrows small_house() {
  std::vector<Finding> findings;
  Arrows arrows =
      Arrows::parse({"arrows.txt",
                     "base/core:\nbase/crypto: base/core\nbase: base/crypto\n"
                     "verify: base/crypto/sha256.hpp\n"
                     "apps: verify\ntests: base verify apps\n"},
                    findings);
  EXPECT_THAT(report(findings), IsEmpty());
  return arrows;
}

/// What is wrong with `body` in a file that has its SPDX line.
std::string wrong(std::string path, std::string_view body) {
  return report(check({std::move(path), std::string(kSpdx) + std::string(body)}, small_house()));
}

TEST(LinterTest, AcceptsAGoodFile) {
  EXPECT_EQ(wrong("commensal/base/crypto/a.hpp",
                  "#pragma once\n\n#include <commensal/base/core/bytes.hpp>\n"
                  "#include <vector>\nint f(int time);\n"),
            "");
}

TEST(LinterTest, FindsForbiddenIncludes) {
  struct Case {
    std::string path, include, what;
  };
  const auto cases = std::to_array<Case>({
      {"commensal/base/core/a.cpp", "<commensal/base/crypto/b.hpp>",
       "base/core may not include <commensal/base/crypto/b.hpp>"},
      {"commensal/verify/a.cpp", "<commensal/base/crypto/sign.hpp>", "may not include"},
      {"commensal/verify/a.cpp", "<commensal/base/cryptology/b.hpp>", "may not include"},
      {"apps/main.cpp", "<commensal/base/core/b.hpp>", "apps may not include"},
      {"commensal/verify/a.cpp", "\"commensal/verify/b.hpp\"", "include <commensal/verify/b.hpp>"},
      {"commensal/verify/a.cpp", "<../core/b.hpp>", "through ../"},
      {"commensal/verify/a.cpp", "<tests/e2e/b.hpp>", "only tests"},
      {"commensal/verify/a.cpp", "<apps/b.hpp>", "only programs"},
      {"commensal/base/a.cpp", "<commensal/base/core/b.hpp>", "base may not include"},
      {"commensal/market/a.cpp", "<vector>", "in no room"},
  });
  for (const Case& c : cases) {
    EXPECT_THAT(wrong(c.path, "#pragma once\n  #  include " + c.include + "\n"), HasSubstr(c.what));
  }
}

TEST(LinterTest, KeepsForeignHeadersInTheirRoom) {
  const auto leaks = [](std::string_view inner, std::string_view user_path) {
    const std::string path = "commensal/base/core/";
    return report(check_leaf_headers(
        {{path + "inner.hpp", "#include " + std::string(inner) + "\n"},
         {path + "outer.hpp", "#include <commensal/base/core/inner.hpp>\n"},
         {std::string(user_path), "\n#include <commensal/base/core/outer.hpp>\n"}},
        small_house()));
  };
  for (const char* header : {"<grpcpp/grpcpp.h>", "<commensal/v1/link.pb.h>", "<boost/asio.hpp>",
                             "<onnx/onnx_pb.h>", "<sqlite3.h>", "<nlohmann/json.hpp>"}) {
    EXPECT_THAT(leaks(header, "commensal/verify/a.cpp"),
                HasSubstr("a.cpp:2: commensal/base/core/outer.hpp shows a foreign library"));
    EXPECT_EQ(leaks(header, "commensal/base/core/a.cpp"), "");
  }
  EXPECT_EQ(leaks("<vector>", "commensal/verify/a.cpp"), "");
}

TEST(LinterTest, AllowsWhatTheTableAllows) {
  EXPECT_EQ(wrong("commensal/verify/a.cpp", "#include <commensal/base/crypto/sha256.hpp>\n"), "");
  EXPECT_EQ(wrong("commensal/verify/a.cpp", "#include <commensal/verify/b.hpp>\n"), "");
  EXPECT_EQ(wrong("commensal/base/a.cpp", "#include <commensal/base/b.hpp>\n"), "");
  EXPECT_EQ(wrong("commensal/verify/a.cpp", "#include <boost/asio.hpp>\n"), "");
  EXPECT_EQ(wrong("commensal/verify/a-inl.hpp", "#pragma once\n#include <hwy/highway.h>\n"), "");
  EXPECT_EQ(wrong("tests/e2e/a.cpp", "#include <commensal/base/core/b.hpp>\n"), "");
  EXPECT_EQ(wrong("commensal/verify/a.cpp",
                  "// #include \"x.hpp\"\nauto s = R\"(\n#include \"y\"\n)\";\n"),
            "");
}

TEST(LinterTest, KeepsTestSupportToTests) {
  constexpr std::string_view kUse = "#include <commensal/base/core/testing/x.hpp>\n";
  for (const char* path : {"commensal/base/crypto/a_test.cpp", "commensal/base/crypto/a_bench.cpp",
                           "commensal/base/crypto/testing/a.cpp", "tests/e2e/a.cpp"}) {
    EXPECT_EQ(wrong(path, kUse), "") << path;
  }
  for (const char* include : {"commensal/base/core/testing/x.hpp", "gtest/gtest.h"}) {
    EXPECT_THAT(wrong("commensal/base/crypto/a.cpp", "#include <" + std::string(include) + ">\n"),
                HasSubstr("is for tests"));
  }
}

TEST(LinterTest, FindsMissingHeads) {
  EXPECT_THAT(report(check({"apps/a.cpp", "int a;\n"}, small_house())), HasSubstr("SPDX"));
  EXPECT_THAT(report(check({"apps/a.c", "int a;\n"}, small_house())), HasSubstr("SPDX"));
  EXPECT_THAT(report(check({"demo", "#!/bin/bash\nset -e\n"}, small_house())), HasSubstr("SPDX"));
  EXPECT_THAT(report(check({"apps/a.cpp", ""}, small_house())), HasSubstr("SPDX"));
  EXPECT_EQ(report(check({"demo", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"},
                         small_house())),
            "");
  EXPECT_THAT(wrong("commensal/verify/a.hpp", "int a;\n"), HasSubstr("#pragma once"));
  EXPECT_THAT(wrong("commensal/verify/a-inl.hpp", "int a;\n"), HasSubstr("#pragma once"));
  EXPECT_EQ(wrong("commensal/verify/a_inl.hpp", "// No #pragma once: once per target.\n"), "");
}

TEST(LinterTest, FindsWhatIsTooLong) {
  const std::string wide = "// " + std::string(97, 'x');
  EXPECT_EQ(wrong("apps/a.cpp", wide + "\n"), "");
  EXPECT_THAT(wrong("apps/a.cpp", wide + "y\n"), HasSubstr("a.cpp:2: 101 columns"));
  EXPECT_EQ(wrong("apps/a.cpp", "// " + std::string(96, 'x') + "\xC3\xA9\n"), "") << "one column";
  std::string lines;
  for (int i = 0; i < kFileLinesMax - 1; ++i) lines += "int a;\n";
  EXPECT_EQ(wrong("apps/a.cpp", lines), "");
  EXPECT_THAT(wrong("apps/a.cpp", lines + "int b;\n"), HasSubstr("a file of 401 lines"));
}

TEST(LinterTest, FindsLongFunctions) {
  std::string statements;
  for (int i = 0; i < kFunctionLinesMax - 2; ++i) statements += "  if (x) { y(\"}\"); }\n";
  EXPECT_EQ(wrong("apps/a.cpp", "int f() {\n" + statements + "}\n"), "");
  const std::string longer = statements + "  g();\n}\n";
  for (const char* head :
       {"int f(int a = {}) {\n", "template <class T>\nint f() {\n", "A::A() : a_{1}, b_(2) {\n",
        "struct S {\n int f() const noexcept {\n", "auto kF = [](int a) -> int {\n",
        "namespace a::b {\nTEST(A, B) {\n", "constexpr Row kRows[] = {\n {\"a\", [](int a) {\n"}) {
    EXPECT_THAT(wrong("apps/a.cpp", head + longer), HasSubstr("a function of 7")) << head;
  }
  EXPECT_EQ(wrong("apps/a.cpp", "struct S {\n" + statements + longer + ";"), "")
      << "a class is no function";
  std::string rows;
  for (int i = 0; i < 2 * kFunctionLinesMax; ++i)
    rows += "    {\"a\", 1, [](int) { return 1; }},\n";
  EXPECT_EQ(wrong("apps/a.cpp", "constexpr auto kRows = std::to_array<Row>({\n" + rows + "});\n"),
            "");
}

TEST(LinterTest, KnowsWhereFunctionsBeginAndEnd) {
  const std::string code =
      "#define F(x) \\\n  { x }\n"                           // 1, 2
      "class [[nodiscard]] A : public B<C()> {\n public:\n"  // 3, 4
      "  explicit A(int a)\n      : a_{a},\n        b_(1'000) {\n    run();\n  }\n"
      "  void g() override { h([] { return '{'; }); }\n"   // 10
      "  int c_[2] = {1, 2};\n};\n"                        // 11, 12
      "\ntemplate <class T>\nvoid h(T t) /* { */ {\n}\n";  // 13 to 16
  std::vector<std::pair<int, int>> spans;
  for (const Function& f : functions_of(without_directives(code_of(code)))) {
    spans.emplace_back(f.first_line, f.last_line);
  }
  EXPECT_THAT(spans, ElementsAre(std::pair(4, 9), std::pair(10, 10), std::pair(14, 16)));
}

TEST(LinterTest, FindsTheMachinesClockAndDice) {
  for (const char* line : {"auto t = std::chrono::steady_clock::now();", "std::random_device d;",
                           "return time(nullptr);", "int x = std::rand();", "f(::time(0));",
                           "using std::chrono::system_clock;", "std::mt19937 engine(1);"}) {
    EXPECT_THAT(wrong("commensal/verify/a.cpp", line), HasSubstr("core::Clock")) << line;
    EXPECT_EQ(wrong("commensal/base/core/a.cpp", line), "") << line;
  }
  for (const char* line : {"x.time(0);", "p->rand();", "int time(int);", "Clock& clock();",
                           "// steady_clock\n", "auto s = \"rand()\";", "my::time(1);"}) {
    EXPECT_EQ(wrong("commensal/verify/a.cpp", line), "") << line;
  }
}

TEST(LinterTest, FindsBadTables) {
  std::vector<Finding> findings;
  Arrows::parse({"arrows.txt", "base/core: base/crypto\nbase/crypto\n"}, findings);
  EXPECT_THAT(report(findings), HasSubstr("arrows.txt:1: no earlier room holds base/crypto"));
  EXPECT_THAT(report(findings), HasSubstr("arrows.txt:2: expected"));
}

TEST(LinterTest, FindsForbiddenLinks) {
  const auto links = [](std::string text) {
    return report(small_house().check_cmake({"CMakeLists.txt", std::move(text)}));
  };
  EXPECT_EQ(links("commensal_room(verify LINK base/crypto fmt::fmt)\n"), "");
  EXPECT_THAT(links("commensal_room(verify\n  LINK base/core)\n"), HasSubstr("may not link"));
  EXPECT_THAT(links("\ncommensal_room(trade/pay)\n"), HasSubstr(":2: this room is missing"));
}

}  // namespace
}  // namespace commensal::tidy
