// SPDX-License-Identifier: Apache-2.0
// Samples of the operators on texts.
#include <commensal/compute/kernels/testing/samples_domains.hpp>
#include <commensal/compute/kernels/testing/samples_make.hpp>

namespace commensal::kernels::testing {
namespace {

using make::Named;
using make::with;
using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

Attributes grams(const char* mode, Named more) {
  Attributes made = with({{"mode", std::string(mode)},
                          {"min_gram_length", std::int64_t{1}},
                          {"max_gram_length", std::int64_t{2}},
                          {"max_skip_count", std::int64_t{1}},
                          {"ngram_counts", Ints{0, 3}},
                          {"ngram_indexes", Ints{0, 2, 1, 4, 0}},
                          {"weights", std::vector<float>{0.5f, 2, 3, 0.25f, 1.5f}}});
  for (const auto& [name, value] : more) made.set(name, value);
  return made;
}

}  // namespace

std::vector<Sample> string_samples() {
  const Tensor words = Tensor::of_strings({2, 2}, {"a,b,c", "", "x y", ",b"});
  const Tensor row = Tensor::of_strings({1, 4}, {"The", "cat", "the", "Hat"});
  std::vector<Sample> s;
  s.push_back({"RegexFullMatch", 20, {words}, with({{"pattern", std::string("(\\w,?)+|")}})});
  s.push_back({"StringConcat", 20, {words, Tensor::of_strings({2}, {"!", "?"})}});
  s.push_back({"StringNormalizer",
               10,
               {row},
               with({{"stopwords", Texts{"the"}}, {"case_change_action", std::string("UPPER")}})});
  s.push_back({"StringSplit", 20, {words}, with({{"delimiter", std::string(",")}}), 2});
  s.push_back({"StringSplit", 20, {words}, with({{"maxsplit", std::int64_t{1}}}), 2});
  for (const char* mode : {"TF", "IDF", "TFIDF"}) {
    s.push_back({"TfIdfVectorizer",
                 9,
                 {Tensor::of<std::int64_t>({2, 5}, Ints{1, 2, 3, 1, 2, 3, 3, 3, 2, 1})},
                 grams(mode, {{"pool_int64s", Ints{1, 2, 3, 1, 2, 3, 3}}})});
    s.push_back({"TfIdfVectorizer",
                 9,
                 {Tensor::of_strings({5}, {"a", "b", "a", "c", "b"})},
                 grams(mode, {{"pool_strings", Texts{"a", "b", "c", "a", "b", "c", "b"}}})});
  }
  return s;
}

}  // namespace commensal::kernels::testing
