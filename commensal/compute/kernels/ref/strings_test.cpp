// SPDX-License-Identifier: Apache-2.0
// Operators on texts by hand; patterns against a matcher that tries everything.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/compute/kernels/ref/strings_pattern.hpp>
#include <commensal/compute/kernels/ref/unicode.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <functional>
#include <set>

namespace commensal::kernels {
namespace {

using namespace testing;
using ref::Pattern;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;
using Named = std::initializer_list<std::pair<const char*, Attribute>>;

Sample sample(const char* name, int opset, std::vector<Tensor> inputs, Named named,
              int outputs = 1) {
  Attributes attributes;
  for (const auto& [attribute, value] : named) attributes.set(attribute, value);
  return {name, opset, std::move(inputs), attributes, outputs};
}
std::vector<Tensor> run(const Sample& given) {
  SampleCall made(given);
  const auto inferred = made.infer();
  EXPECT_TRUE(inferred.has_value()) << inferred.error().message;
  return inferred ? made.run_ref() : std::vector<Tensor>(2);
}
std::string refusal(const Sample& given) {
  SampleCall made(given);
  const auto inferred = made.infer();
  return inferred ? "accepted" : inferred.error().message;
}
Tensor words(const Texts& values) {
  return Tensor::of_strings({static_cast<std::int64_t>(values.size())}, values);
}

TEST(Unicode, ReadsOnlyWellFormedCharacters) {
  // Overlong, surrogate, above the end, cut short: each byte stands for itself.
  for (const std::string bad :
       {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    std::string again;
    for (std::size_t at = 0; at < bad.size();) {
      const std::uint32_t c = ref::next_character(bad, at);
      EXPECT_GE(c, ref::kRawByte);
      ref::append_character(c, again);
    }
    EXPECT_EQ(again, bad);
  }
  for (std::uint32_t c = 0; c < ref::kRawByte; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    ref::append_character(c, text);
    std::size_t at = 0;
    ASSERT_EQ(ref::next_character(text, at), c);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Unicode, MapsCases) {
  Pulse pulse;
  EXPECT_EQ(ref::upper_of("straße, äöü, σς, жё, ǆ, ÿ", pulse), "STRAßE, ÄÖÜ, ΣΣ, ЖЁ, Ǆ, Ÿ");
  EXPECT_EQ(ref::lower_of("ÄÖÜ ΑΣ ЖЁ İ \u212a ǅ", pulse), "äöü ασ жё i k ǆ");
  int lower = 0, upper = 0;
  for (std::uint32_t c = 0; c < ref::kRawByte; ++c) {
    const std::uint32_t low = ref::lower_of(c), high = ref::upper_of(c);
    lower += low != c ? 1 : 0;
    upper += high != c ? 1 : 0;
    // What has been mapped stays.
    EXPECT_EQ(ref::lower_of(low), low) << c;
    EXPECT_EQ(ref::upper_of(high), high) << c;
  }
  EXPECT_EQ(lower, 1433);
  EXPECT_EQ(upper, 1450);
}

bool matches(std::string_view pattern, std::string_view text) {
  const auto made = Pattern::of(pattern);
  EXPECT_TRUE(made) << pattern << ": " << made.error().message;
  Pulse pulse;
  return made && made->matches(text, pulse);
}

// A pattern as text, and the ends of what it describes from a place on, found by trying everything.
struct Tried {
  std::string text;
  std::function<std::set<std::size_t>(std::string_view, std::size_t)> ends;
};

class Grower {
 public:
  explicit Grower(std::uint64_t seed) : seed_(seed) {}
  int below(int end) {
    return static_cast<int>((core::counter_symmetric_f32(seed_, 0, next_++) + 1) / 2 *
                            static_cast<float>(end));
  }
  Tried grow(int depth) {
    if (depth == 0) return leaf();
    const int kind = below(6);
    if (kind == 0) return leaf();
    const Tried a = grow(depth - 1);
    if (kind == 1 || kind == 2) {
      const int least = below(3), most = kind == 1 ? least + below(3) : 1000;
      const std::string counts = kind == 1   ? fmt::format("{{{},{}}}", least, most)
                                 : least < 2 ? std::string(1, "*+"[least])
                                             : "{2,}";
      return {"(?:" + a.text + ")" + counts, [a, least, most](std::string_view t, std::size_t at) {
                std::set<std::size_t> all, edge = {at};
                if (least == 0) all = edge;
                for (int n = 1; n <= most && n <= 12; ++n) {
                  std::set<std::size_t> next;
                  for (const std::size_t from : edge) next.merge(a.ends(t, from));
                  edge = next;
                  if (n >= least) all.insert(edge.begin(), edge.end());
                }
                return all;
              }};
    }
    const Tried b = grow(depth - 1);
    if (kind == 3) {
      return {"(" + a.text + "|" + b.text + ")", [a, b](std::string_view t, std::size_t at) {
                auto all = a.ends(t, at);
                all.merge(b.ends(t, at));
                return all;
              }};
    }
    return {"(?:" + a.text + ")" + b.text, [a, b](std::string_view t, std::size_t at) {
              std::set<std::size_t> all;
              for (const std::size_t from : a.ends(t, at)) all.merge(b.ends(t, from));
              return all;
            }};
  }

 private:
  Tried leaf() {
    static const std::pair<const char*, const char*> kLeaves[] = {
        {"a", "a"}, {"b", "b"}, {"[ab]", "ab"}, {"[^a]", "bc"}, {".", "abc"}, {"\\x63", "c"}};
    const auto [text, taken] = kLeaves[below(6)];
    return {text, [taken = std::string(taken)](std::string_view t, std::size_t at) {
              std::set<std::size_t> all;
              if (at < t.size() && taken.find(t[at]) != std::string::npos) all.insert(at + 1);
              return all;
            }};
  }
  std::uint64_t seed_, next_ = 0;
};

TEST(RefPattern, AgreesWithTryingEverything) {
  int matched = 0, tried = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Grower grower(seed);
    const Tried pattern = grower.grow(3);
    for (int i = 0; i < 20; ++i, ++tried) {
      std::string text;
      for (int n = grower.below(7); n > 0; --n) text += "abc"[grower.below(3)];
      const bool expected = pattern.ends(text, 0).contains(text.size());
      ASSERT_EQ(matches(pattern.text, text), expected) << pattern.text << " on '" << text << "'";
      matched += expected ? 1 : 0;
    }
  }
  EXPECT_GT(matched, tried / 100);
  EXPECT_LT(matched, tried / 2);
}

TEST(RefPattern, KnowsTheSyntax) {
  EXPECT_TRUE(matches(R"(\d{4}-\d\d?)", "2026-11"));
  EXPECT_TRUE(matches(R"((?i)straße|KELVIN)", "STRAßE"));
  EXPECT_TRUE(matches(R"((?i:ab)c)", "ABc"));
  EXPECT_FALSE(matches(R"((?i:ab)c)", "ABC"));
  EXPECT_TRUE(matches(R"([[:alpha:]_]+[^[:space:]]\x{e4}\.)", "ab_1ä."));
  EXPECT_TRUE(matches(R"(\Qa.b*\E+)", "a.b**"));
  EXPECT_TRUE(matches(R"(^(?P<name>\w+)\b.*$)", "word, more"));
  EXPECT_FALSE(matches("a.b", "a\nb"));
  EXPECT_TRUE(matches("(?s)a.b", "a\nb"));
  EXPECT_TRUE(matches("(?m)a$.*", "a"));
  EXPECT_FALSE(matches("a^b", "ab"));
  EXPECT_TRUE(matches("ä{2}", "ää"));
  EXPECT_TRUE(matches("[]a]{,2}", "]{,2}"));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches(".*", "\xff"));
  EXPECT_TRUE(matches("(a*)*", std::string(2000, 'a')));
  EXPECT_FALSE(matches("(a*)*b", std::string(2000, 'a')));  // no blow-up
}

TEST(RefPattern, RefusesInOneLine) {
  const auto refused = [](const std::string& pattern) {
    const auto made = Pattern::of(pattern);
    return made ? "accepted" : made.error().message;
  };
  EXPECT_THAT(refused("a)"), HasSubstr("at byte 1: ')' without '('"));
  EXPECT_THAT(refused("(a"), HasSubstr("'(' without ')'"));
  EXPECT_THAT(refused("[a"), HasSubstr("'[' without ']'"));
  EXPECT_THAT(refused("*"), HasSubstr("nothing to repeat"));
  EXPECT_THAT(refused("a**"), HasSubstr("repetition of a repetition"));
  EXPECT_THAT(refused("a{2,1}"), HasSubstr("the least first"));
  EXPECT_THAT(refused("a{99999999999}"), HasSubstr("0 to 1000"));
  EXPECT_THAT(refused("\\p{Greek}"), HasSubstr("not supported"));
  EXPECT_THAT(refused("(a)\\1"), HasSubstr("back reference"));
  EXPECT_THAT(refused("(?=a)"), HasSubstr("kind that is not known"));
  EXPECT_THAT(refused("[z-a]"), HasSubstr("range from end to begin"));
  EXPECT_THAT(refused("\\"), HasSubstr("at the end"));
  EXPECT_THAT(refused("\\x{110000}"), HasSubstr("hexadecimal"));
  EXPECT_THAT(refused("\xff"), HasSubstr("not UTF-8"));
  EXPECT_THAT(refused(std::string(1 << 13, 'a')), HasSubstr("bytes"));
  EXPECT_THAT(refused(std::string(1000, '(')), HasSubstr("nested too deeply"));
  EXPECT_THAT(refused("(((a{999}){999}){999}){999}"), HasSubstr("states"));
  EXPECT_THAT(refused("(((){1000}){1000}){1000}"), HasSubstr("states"));
}

TEST(RefStrings, ByHand) {
  auto y = run(sample("StringConcat", 20, {words({"a", "b"}), words({"ß"})}, {}));
  EXPECT_THAT(y[0].strings(), ElementsAre("aß", "bß"));
  y = run(sample("StringSplit", 20, {words({" a  b c ", "", "d"})}, {}, 2));
  EXPECT_EQ(y[0].type().text(), "string[3,3]");
  EXPECT_THAT(y[0].strings(), ElementsAre("a", "b", "c", "", "", "", "d", "", ""));
  EXPECT_THAT(y[1].data<std::int64_t>(), ElementsAre(3, 0, 1));
  y = run(sample("StringSplit", 20, {words({" a  b c "})}, {{"maxsplit", std::int64_t{1}}}, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("a", "b c "));
  y = run(
      sample("StringSplit", 20, {words({"a--b--", ""})}, {{"delimiter", std::string("--")}}, 2));
  EXPECT_THAT(y[0].strings(), ElementsAre("a", "b", "", "", "", ""));
  EXPECT_THAT(y[1].data<std::int64_t>(), ElementsAre(3, 1));
  y = run(sample("RegexFullMatch", 20, {words({"ab", "abc"})}, {{"pattern", std::string("ab")}}));
  EXPECT_THAT(y[0].data<bool>(), ElementsAre(true, false));
  const Named lower = {{"case_change_action", std::string("LOWER")},
                       {"stopwords", Texts{"ÄB", "x"}}};
  y = run(sample("StringNormalizer", 10, {words({"äb", "C", "X"})}, lower));
  EXPECT_THAT(y[0].strings(), ElementsAre("c"));
  y = run(sample("StringNormalizer", 10, {words({"äb", "C", "x"})},
                 {{"stopwords", Texts{"ÄB", "x"}}, {"is_case_sensitive", std::int64_t{1}}}));
  EXPECT_THAT(y[0].strings(), ElementsAre("äb", "C"));
  y = run(sample("StringNormalizer", 10, {Tensor::of_strings({1, 1}, {"X"})}, lower));
  EXPECT_EQ(y[0].type().text(), "string[1,1]");
  EXPECT_THAT(y[0].strings(), ElementsAre(""));
}

Sample grams(const Tensor& x, Named more) {
  Sample made = sample("TfIdfVectorizer", 9, {x},
                       {{"mode", std::string("TF")},
                        {"min_gram_length", std::int64_t{1}},
                        {"max_gram_length", std::int64_t{2}},
                        {"max_skip_count", std::int64_t{1}},
                        {"ngram_counts", Ints{0, 2}},
                        {"ngram_indexes", Ints{0, 1, 3}},
                        {"pool_int64s", Ints{1, 2, 1, 2}}});
  for (const auto& [name, value] : more) made.attributes.set(name, value);
  return made;
}

TEST(RefStrings, GramsAreCountedOncePerGap) {
  const Tensor x =
      Tensor::of<std::int32_t>({2, 4}, std::vector<std::int32_t>{1, 2, 2, 9, 2, 1, 1, 2});
  // Row 0: 1 2 and 1 _ 2. Row 1: 1 2 and 1 _ 2.
  EXPECT_THAT(run(grams(x, {}))[0].data<float>(), ElementsAre(1, 2, 0, 2, 2, 2, 0, 2));
  EXPECT_THAT(
      run(grams(x, {{"min_gram_length", std::int64_t{2}}, {"max_skip_count", std::int64_t{0}}}))[0]
          .data<float>(),
      ElementsAre(0, 0, 0, 1, 0, 0, 0, 1));
  const Attribute weights = std::vector<float>{0.5f, 3, 10};
  EXPECT_THAT(
      run(grams(x, {{"mode", std::string("TFIDF")}, {"weights", weights}}))[0].data<float>(),
      ElementsAre(0.5f, 6, 0, 20, 1, 6, 0, 20));
  EXPECT_THAT(run(grams(x, {{"mode", std::string("IDF")}, {"weights", weights}}))[0].data<float>(),
              ElementsAre(0.5f, 3, 0, 10, 0.5f, 3, 0, 10));
}

TEST(RefStrings, RefuseWhatDoesNotFit) {
  const Tensor x = Tensor::of<std::int64_t>({2}, Ints{1, 2});
  EXPECT_THAT(refusal(grams(x, {{"ngram_counts", Ints{0, 1}}})), HasSubstr("into 2-grams"));
  EXPECT_THAT(refusal(grams(x, {{"ngram_counts", Ints{0, 9}}})), HasSubstr("into 1-grams"));
  EXPECT_THAT(refusal(grams(x, {{"ngram_counts", Ints{}}})), HasSubstr("0 n-grams in the pool"));
  EXPECT_THAT(refusal(grams(x, {{"ngram_counts", Ints{0, INT64_MIN}}})), HasSubstr("1-grams"));
  EXPECT_THAT(refusal(grams(x, {{"ngram_indexes", Ints{0, 1}}})), HasSubstr("but 2 in"));
  EXPECT_THAT(refusal(grams(x, {{"ngram_indexes", Ints{0, 1, -1}}})), HasSubstr("has -1"));
  EXPECT_THAT(refusal(grams(x, {{"max_gram_length", std::int64_t{3}}})), HasSubstr("length 3"));
  EXPECT_THAT(refusal(grams(x, {{"max_skip_count", INT64_MAX}})), HasSubstr("skips end at"));
  EXPECT_THAT(refusal(grams(x, {{"weights", std::vector<float>{1}}})), HasSubstr("3 entries"));
  EXPECT_THAT(refusal(grams(words({"a"}), {})), HasSubstr("the pool must be of"));
  EXPECT_THAT(refusal(sample("StringConcat", 20, {words({"a"}), x}, {})),
              HasSubstr("input 1 must be strings, not int64"));
  EXPECT_THAT(refusal(sample("StringNormalizer", 10, {Tensor::of_strings({2, 1}, {"a", "b"})}, {})),
              HasSubstr("[C] or [1, C]"));
  EXPECT_THAT(
      refusal(sample("RegexFullMatch", 20, {words({"a"})}, {{"pattern", std::string("(")}})),
      HasSubstr("the pattern at byte 1"));
  // Products that would fill the memory.
  const Tensor column = Tensor::of_strings({1 << 13, 1}, Texts(1 << 13, "a"));
  EXPECT_THAT(refusal(sample("StringConcat", 20, {column, words(Texts(1 << 13, "b"))}, {})),
              HasSubstr("strings, at most"));
  EXPECT_THAT(refusal(sample("StringSplit", 20, {words([] {
                               Texts texts(1 << 13);
                               texts[0] = std::string(1 << 13, ',');
                               return texts;
                             }())},
                             {{"delimiter", std::string(",")}}, 2)),
              HasSubstr("strings, at most"));
}

Attributes to_type(tensor::DType dtype) {
  Attributes made;
  made.set("to", static_cast<std::int64_t>(dtype));
  return made;
}

TEST(CastText, ReadsAndWritesNumbers) {
  SampleCall read({"Cast",
                   13,
                   {Tensor::of_strings({6}, {"0.1", " -1e-3 ", "+INF", "nan", "-inf", "7"})},
                   to_type(tensor::DType::kFloat32)});
  ASSERT_TRUE(read.infer());
  const Tensor numbers = read.run_ref()[0];
  EXPECT_EQ(numbers.data<float>()[0], 0.1f);
  EXPECT_EQ(numbers.data<float>()[1], -1e-3f);
  SampleCall written({"Cast", 13, {numbers}, to_type(tensor::DType::kString)});
  ASSERT_TRUE(written.infer());
  EXPECT_THAT(written.run_ref()[0].strings(),
              ElementsAre("0.1", "-0.001", "INF", "NaN", "-INF", "7"));
}

TEST(CastText, RefusesWhatIsNoNumber) {
  using tensor::DType;
  const std::pair<const char*, DType> cases[] = {
      {"", DType::kFloat32},  {"0x10", DType::kFloat32}, {"1e999", DType::kFloat64},
      {"1.5", DType::kInt32}, {"256", DType::kUint8},    {"-1", DType::kUint64},
      {"yes", DType::kBool},  {"1 2", DType::kInt64},    {"+-1", DType::kFloat32}};
  for (const auto& [text, to] : cases) {
    SampleCall made({"Cast", 13, {Tensor::of_strings({1}, {text})}, to_type(to)});
    const auto inferred = made.infer();
    ASSERT_FALSE(inferred) << text;
    EXPECT_THAT(inferred.error().message, HasSubstr("the text at [0] is no "));
  }
}

}  // namespace
}  // namespace commensal::kernels
