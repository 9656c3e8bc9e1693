// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/ref/strings_ops.hpp>
#include <commensal/compute/kernels/table.hpp>

namespace commensal::kernels {

// name, since, until, inputs min and max, outputs max, kind, ref columns, cpu, domain, strings
std::vector<Row> string_rows() {
  constexpr auto kEach = Kind::kElementwise;
  constexpr auto kOwn = Strings::kOwn;
  return {
      {"RegexFullMatch", 20, 0, 1, 1, 1, kEach, ref::regex_full_match(), {}, {}, kOwn},
      {"StringConcat", 20, 0, 2, 2, 1, kEach, ref::string_concat(), {}, {}, kOwn},
      {"StringNormalizer", 10, 0, 1, 1, 1, kEach, ref::string_normalizer(), {}, {}, kOwn},
      {"StringSplit", 20, 0, 1, 1, 2, kEach, ref::string_split(), {}, {}, kOwn},
      {"TfIdfVectorizer", 9, 0, 1, 1, 1, Kind::kReduction, ref::tf_idf_vectorizer(), {}, {}, kOwn},
  };
}

}  // namespace commensal::kernels
