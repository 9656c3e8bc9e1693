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
#include <tests/tidy/house.hpp>
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

class TreeTest : public testing::Test {
 protected:
  void SetUp() override {
    arrows_ = Arrows::parse(table_, findings_);
    ASSERT_TRUE(findings_.empty()) << report(findings_);
    for (const char* file : {"demo", "test", ".ci/run", "CMakeLists.txt"}) {
      sources_.push_back(read(root_, root_ / file));
    }
    for (const char* folder : {"apps", "cmake", "commensal", "examples", "hosts", "models", "proto",
                               "scripts", "tests"}) {
      std::filesystem::recursive_directory_iterator at(root_ / folder);
      for (const auto& entry : at) {
        if (entry.path().filename() == "node_modules") at.disable_recursion_pending();
        if (entry.is_regular_file()) sources_.push_back(read(root_, entry.path()));
      }
    }
    std::ranges::sort(sources_, {}, &Source::path);
    std::erase_if(sources_, [](const Source& source) { return !is_checked(source); });
    ASSERT_GT(sources_.size(), 100U) << "the walk over the tree found too little";
  }

  const std::filesystem::path root_ = COMMENSAL_SOURCE_DIR;
  const Source table_ = read(root_, root_ / "tests/tidy/arrows.txt");
  std::vector<Finding> findings_;
  Arrows arrows_;
  std::vector<Source> sources_;
};

TEST_F(TreeTest, SourcesObeyTheRules) {
  for (const Source& source : sources_)
    std::ranges::move(check(source, arrows_), std::back_inserter(findings_));
  std::ranges::move(check_leaf_headers(sources_, arrows_), std::back_inserter(findings_));
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

TEST_F(TreeTest, EveryArrowIsNeeded) {
  findings_ = check_arrows_used(uses_of(sources_, arrows_), arrows_, table_);
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

TEST_F(TreeTest, InsideTheGatewayCallsGoOneWay) {
  findings_ = check_layers(sources_, "commensal/serve/gateway/",
                           read(root_, root_ / "tests/tidy/layers.txt"));
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

TEST_F(TreeTest, CMakeLinksWhatIsIncluded) {
  const Source cmake = read(root_, root_ / "CMakeLists.txt");
  ASSERT_THAT(cmake.text, HasSubstr("commensal_room(base/core"));
  findings_ = check_links(cmake, uses_of(sources_, arrows_), arrows_);
  EXPECT_TRUE(findings_.empty()) << report(findings_);
}

// ---- the linter itself -------------------------------------------------------------------------

Arrows small_house() {
  std::vector<Finding> findings;
  Arrows arrows = Arrows::parse({"arrows.txt",
                                 "base/core:\nbase/crypto: base/core\nbase: base/crypto\n"
                                 "verify: base/crypto/sha256.hpp\n"
                                 "apps: verify\napps/one: verify\napps/other: verify\nhosts:\n"
                                 "tests: base/ verify apps\n"},
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
      {"apps/one/a.cpp", "<apps/other/b.hpp>", "apps/one may not include <apps/other/b.hpp>"},
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
  for (const char* header : {"<grpcpp/grpcpp.h>", "<commensal/v1/stream.pb.h>", "<boost/asio.hpp>",
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
  constexpr std::string_view kHostUse = "#include <hosts/common/testing/child.hpp>\n";
  EXPECT_EQ(wrong("hosts/server/server_test.cpp", kHostUse), "");
  EXPECT_THAT(wrong("hosts/server/main.cpp", kHostUse), HasSubstr("is for tests"));
}

TEST(LinterTest, FindsNamespacesOfOtherRooms) {
  const auto in = [](std::string path, std::string_view name) {
    return wrong("commensal/" + path, "#pragma once\nnamespace " + std::string(name) + " {\n}\n");
  };
  for (const char* name :
       {"commensal::crypto", "commensal::base::crypto", "commensal::crypto::curves", "other"}) {
    EXPECT_EQ(in("base/crypto/a.hpp", name), "") << name;
  }
  EXPECT_EQ(in("base/crypto/testing/a.hpp", "commensal::crypto::testing"), "");
  EXPECT_EQ(in("base/core/limits_x.hpp", "commensal::limits"), "");
  for (const char* name :
       {"commensal::core", "commensal::base", "commensal::cryptology", "commensal::core::crypto"}) {
    EXPECT_THAT(in("base/crypto/a.hpp", name), HasSubstr("is not that of room base/crypto"));
  }
  EXPECT_THAT(in("base/crypto/testing/a.hpp", "commensal::crypto"), HasSubstr("go together"));
  EXPECT_THAT(in("base/crypto/a.hpp", "commensal::crypto::testing"), HasSubstr("go together"));
  EXPECT_THAT(in("base/core/limits.hpp", "commensal::core"), HasSubstr("commensal::limits"));
}

TEST(LinterTest, FindsBoundsOutsideTheLimits) {
  constexpr std::string_view kBound =
      "#pragma once\ninline constexpr std::size_t kLineBytesMax = 1 << 10;\n";
  EXPECT_THAT(wrong("commensal/verify/a.hpp", kBound), HasSubstr("kLineBytesMax is a bound"));
  for (const char* path : {"commensal/base/core/limits_x.hpp", "commensal/verify/testing/a.hpp"}) {
    EXPECT_EQ(wrong(path, kBound), "") << path;
  }
  EXPECT_EQ(wrong("commensal/verify/a.cpp", "const auto n = limits::kLineBytesMax;\n"), "");
}

TEST(LinterTest, FindsTimesWithoutUnits) {
  for (const char* line :
       {"int timeout = 3;", "f(double delay, int b);", "constexpr std::int64_t kIdlePeriodMax{4};",
        "  std::uint32_t deadline_;", "int g(\n    std::int64_t patience)"}) {
    EXPECT_THAT(wrong("commensal/verify/a.cpp", line), HasSubstr("does not end in its unit"))
        << line;
  }
  for (const char* line : {"int timeout_ms = 3;", "double delay_s_max = 1;", "int periods = 4;",
                           "constexpr std::int64_t kDelayNs = 4;", "bool elapsed(int n);",
                           "std::chrono::seconds timeout;", "int deadline();"}) {
    EXPECT_EQ(wrong("commensal/verify/a.cpp", line), "") << line;
  }
}

TEST(LinterTest, KeepsSomeArrowsToTests) {
  std::vector<Finding> findings;
  const Source table{"arrows.txt", "base/core:\nbase/store:\nverify: base/core | base/store\n"};
  const Arrows arrows = Arrows::parse(table, findings);
  const Source own{"commensal/verify/a.cpp",
                   std::string(kSpdx) + "#include <commensal/base/store/b.hpp>\n"};
  Source test = own;
  test.path = "commensal/verify/a_test.cpp";
  EXPECT_THAT(report(check(own, arrows)), HasSubstr("verify may not include"));
  EXPECT_EQ(report(check(test, arrows)), "");
  EXPECT_EQ(report(check_arrows_used(uses_of({test}, arrows), arrows, table)),
            "arrows.txt:3: verify includes nothing of base/core\n");
  EXPECT_THAT(report(check_arrows_used(uses_of({own}, arrows), arrows, table)),
              HasSubstr("verify includes nothing of base/store"));
}

std::vector<Source> small_tree() {
  return {{"commensal/base/crypto/a.cpp", "#include <commensal/base/core/b.hpp>\n"},
          {"commensal/verify/a_test.cpp", "#include <commensal/base/crypto/sha256.hpp>\n"},
          {"apps/a.cpp", "#include <commensal/verify/b.hpp>\n"}};
}

TEST(LinterTest, FindsArrowsThatNothingNeeds) {
  std::vector<Finding> findings;
  const Source table{
      "arrows.txt",
      "base/core:\nbase/crypto: base/core\nverify: base/core | base/crypto/sha256.hpp\n"
      "trade: base\napps: base verify\n"};
  const Arrows arrows = Arrows::parse(table, findings);
  std::vector<Source> tree = small_tree();
  tree.push_back({"commensal/trade/a.cpp", "#include <commensal/base/core/b.hpp>\n"});
  const auto found = check_arrows_used(uses_of(tree, arrows), arrows, table);
  EXPECT_EQ(report(found),
            "arrows.txt:3: verify includes nothing of base/core\n"
            "arrows.txt:4: trade includes nothing of base/crypto (in base)\n"
            "arrows.txt:5: apps includes nothing of base\n");
}

TEST(LinterTest, FindsIncludesOfAHigherLayer) {
  const std::string up = "\n#include <commensal/a/up.hpp>\n",
                    down = "#include <commensal/a/low.hpp>\n#include <commensal/b/x.hpp>\n";
  const auto found =
      check_layers({{"commensal/a/low.cpp", up},
                    {"commensal/a/low_test.cpp", up},
                    {"commensal/a/up.cpp", up + down},
                    {"commensal/a/new.cpp", down},
                    {"commensal/b/x.cpp", up}},
                   "commensal/a/", {"layers.txt", "# order\nfirst: low\nnext: up\n"});
  EXPECT_EQ(report(found),
            "commensal/a/low.cpp:2: commensal/a/up.hpp is in a higher layer (layers.txt)\n"
            "commensal/a/new.cpp:1: in no layer of layers.txt\n"
            "commensal/a/new.cpp:1: commensal/a/low.hpp is in a higher layer (layers.txt)\n");
}

TEST(LinterTest, HoldsLinksToIncludes) {
  const auto links = [](const std::string& text) {
    const std::vector<Source> tree = small_tree();
    return report(
        check_links({"CMakeLists.txt", text}, uses_of(tree, small_house()), small_house()));
  };
  const std::string good =
      "commensal_room(base/core LINK fmt::fmt)\ncommensal_room(base/crypto LINK base/core)\n";
  EXPECT_EQ(links(good + "commensal_room(verify LINK base/crypto fmt::fmt)\n"), "");
  EXPECT_EQ(links(good + "commensal_room(verify TESTING base/crypto)\n"), "");
  EXPECT_EQ(
      links(good + "commensal_room(verify)\n"),
      "CMakeLists.txt:3: verify includes base/crypto/sha256.hpp, but does not link its room\n");
  EXPECT_EQ(links(good + "commensal_room(verify\n  LINK base/core base/crypto)\n"),
            "CMakeLists.txt:3: verify may not link base/core\n"
            "CMakeLists.txt:3: verify links base/core, but includes nothing of it\n");
  EXPECT_THAT(links("\ncommensal_room(trade/pay)\n"), HasSubstr(":2: this room is missing"));
}

}  // namespace
}  // namespace commensal::tidy
